"""Why is a group late, and what will happen?"""

from dataclasses import replace

import polars as pl
import streamlit as st

from app import (
    advice,
    components,
    decisions,
    expected,
    grouppage,
    grouptable,
    pages,
    queries,
    tables,
)
from app.axis import broker_marks, page_axis
from app.charts.fields import heatmap
from app.charts.lines import Line, columns_chart
from app.format import clock, duration, escape, exact, rate, short, thin
from app.groups import LATE, LOOKS
from app.tables import NEVER, NONE, Column
from app.view import current
from lake.errors import LakeError
from lake.tables import GROUP_OFFSETS, GROUPS
from scaling.recommend import recommend_group

NEUTRAL_SECONDS = 60.0
DELAYS_LACK = (
    "Gaps: a partition has waited for longer than it has been watched, so that nobody knows how "
    "old its oldest message is."
)

view = current()
try:
    known = decisions.group_facts(view)
except LakeError as error:
    components.headline("The group cannot be shown")
    components.show_broken(error)
    st.stop()

asked = st.query_params.get("group")
heading, choice = st.columns([3, 1.4], vertical_alignment="center")
with choice:
    group = st.selectbox(
        "Group",
        list(known),
        index=None,
        key="group",
        bind="query-params",
        placeholder="choose a group",
        label_visibility="collapsed",
    )
if group is None:
    with heading:
        components.headline("Which group?" if not asked else "This group is not known")
    if asked and asked not in known:
        components.nothing(
            f"The newest poll did not find the group {escape(asked)}: it has no committed offsets, "
            "was deleted, or could not be read. The list on the right holds those that are there."
        )
    pages.link(pages.GROUPS, "All consumer groups", icon=":material/arrow_back:")
    st.stop()

facts = known[group]
status, numbers = facts.status, facts.status.numbers
with heading, st.container(horizontal=True, vertical_alignment="center"):
    st.title(escape(group), anchor=False, width="content")
    components.badge(LOOKS[status.status])

since = ""
if status.since is not None:
    when = clock(decisions.moment(status.since), view.zone, now=view.now)
    since = f" Since{' before' if status.began_before_window else ''} **{when}**."
deadline = next((one for one in decisions.deadlines(view) if one.group == group), None)
retention = ""
if deadline is not None:
    left = duration(deadline.at - view.now.timestamp())
    where = f"{deadline.topic}-{deadline.partition}"
    retention = f" Retention reaches {escape(where)} in **{left}**."
st.markdown(f"{escape(thin(status.reason))}{since}{retention}")

drain = grouptable.drain_seconds(status)
with st.grid(6, min_column_width=124, gap="small"):
    components.tile(
        "Lag",
        short(numbers.lag),
        delta=f"{exact(status.unknown_partitions)} unknown"
        if status.unknown_partitions
        else "messages waiting",
        colour="violet" if status.unknown_partitions else "off",
        help_text="Log end minus committed offset, over all partitions that are known.",
    )
    components.tile(
        "Time lag",
        duration(numbers.behind_seconds),
        delta="oldest unread",
        help_text="Time since the oldest message was appended that the group has not read.",
    )
    components.tile("Arriving", rate(numbers.arrival_per_second), delta="for this group")
    components.tile("Consumed", rate(numbers.consumption_per_second), delta="committed")
    components.tile(
        "Drained in",
        "never"
        if drain == NEVER
        else "nothing waits"
        if drain == NONE and numbers.lag == 0
        else "steady"
        if drain == NONE
        else duration(drain),
        delta="it grows" if drain == NEVER else "at these rates",
        colour="orange" if drain == NEVER and status.status in LATE else "off",
        help_text="Lag divided by what is consumed beyond what arrives.",
    )
    components.tile(
        "Members",
        exact(facts.members),
        delta=f"{exact(facts.idle_members)} idle"
        if facts.idle_members
        else "none idle"
        if facts.idle_members == 0
        else "idle: unknown",
        colour="orange" if facts.idle_members else "off",
        help_text="Consumers in the group; an idle one holds no partition.",
    )

left_side, right_side = st.columns([3, 2], gap="medium")
with components.guarded():
    partitions = queries.partition_history(view, group)
    whole = queries.group_history(view, group)
    history = replace(whole, frame=grouppage.with_whole_delays(whole.frame, partitions.frame))
    events = broker_marks(view)
    first = min((one for one in (history.first, partitions.first) if one), default=None)
    axis = page_axis(view, first, events, step_seconds=history.step_seconds)
    with left_side:
        for title, key, line, y_title, alt in (
            ("Time lag", "time-lag", Line("time_lag_seconds", "time lag"), "", "Age"),
            ("Lag", "lag", Line("lag", "lag"), "messages waiting", "Number"),
        ):
            with components.section(title, log_key=f"group-{key}-log") as log:
                components.chart(
                    columns_chart(
                        history.frame,
                        [line],
                        axis=axis,
                        palette=view.palette,
                        step_seconds=history.step_seconds,
                        y_title=y_title,
                        log=log,
                        height=210,
                    ),
                    key=f"group-{key}",
                    alt=f"{alt} of the messages that {group} has not read, over time",
                    note=DELAYS_LACK
                    if key == "time-lag"
                    and history.frame["lag"].count() > history.frame["time_lag_seconds"].count()
                    else None,
                )
        with components.section("Arriving and consumed"):
            components.chart(
                columns_chart(
                    history.frame,
                    [
                        Line("arrival_per_second", "arriving"),
                        Line("consumption_per_second", "consumed"),
                    ],
                    axis=axis,
                    palette=view.palette,
                    step_seconds=history.step_seconds,
                    y_title="messages a second",
                    height=240,
                ),
                key="group-flow",
                alt=f"Messages a second that arrive for {group} and that it consumes, over time",
                note=history.note,
            )
        with components.section("Expected to arrive"):
            expected.draw(view, "group", group)
    with right_side:
        with components.section("Advice"):
            for position, one in enumerate(recommend_group(facts)):
                advice.card(one, key=f"advice-{position}")
        rows, total = grouppage.heat_rows(partitions.frame)
        # A delay longer than the collectors have watched is unknown: then the counts tell more.
        by_time = not grouppage.lacks_delays(rows)
        with components.section(
            "Time lag by partition" if by_time else "Lag by partition",
            help_text="One row a partition: a stuck or hot one stands out. Blank is not known. "
            f"Less than {duration(NEUTRAL_SECONDS)} of arrivals stays in neutral colours.",
        ):
            if rows["lag"].null_count() == rows.height:
                components.nothing("No lag of a partition is known in this range.")
            else:
                components.chart(
                    heatmap(
                        rows,
                        value="time_lag_seconds" if by_time else "lag",
                        axis=axis,
                        palette=view.palette,
                        step_seconds=partitions.step_seconds,
                        unit=None if by_time else "messages",
                        neutral=NEUTRAL_SECONDS
                        if by_time
                        else grouppage.neutral_lag(facts, NEUTRAL_SECONDS),
                    ),
                    key="group-heat",
                    alt=f"Lag of each partition of {group} over time",
                    note=f"{grouppage.HEATMAP_ROWS} of {total} partitions: the highest lag"
                    if total > grouppage.HEATMAP_ROWS
                    else None,
                )

with components.section("Members"):
    members = decisions.members(view).filter(pl.col("group") == group)
    if facts.members == 0:
        components.nothing("The group has no member.", icon=":material/person_off:")
    elif members.is_empty():
        components.nothing("The members could not be read.", icon=":material/help:")
    else:
        tables.show(
            grouppage.member_rows(facts, members),
            {
                "client_id": Column("client", width=180),
                "does": Column("does", help="An idle member holds no partition."),
                "assigned_partitions": Column("partitions", "count"),
                "consumption": Column("consumed", "rate"),
                "load": Column("share of the load", "share"),
                "lag": Column("lag", "count"),
                "behind_seconds": Column("time lag", "duration"),
                "host": Column("host"),
                "instance_id": Column(
                    "static id", unknown="", help="group.instance.id, where it is set."
                ),
            },
            view=view,
            key="group-members",
            alt=f"Members of {group} with what they hold and read",
            noun="members",
        )

with components.section("Partitions"):
    offsets = queries.newest(view, GROUP_OFFSETS).filter(pl.col("group") == group)
    table = grouppage.partition_rows(facts, offsets, view.now)
    columns = {
        "topic": Column("topic", pinned=True, opens=(pages.TOPIC, "topic")),
        "partition": Column("partition", "count"),
        "label": Column("status", "status", looks=list(LOOKS.values()), width=125),
        "lag": Column("lag", "count"),
        "behind_seconds": Column("time lag", "duration"),
        "committed": Column("committed", "count"),
        "log_end": Column("log end", "count"),
        "lost_messages": Column(
            "lost", "count", help="Messages that retention deleted before the group read them."
        ),
        "commit_age_seconds": Column(
            "last commit", "duration", help="Time since the group last committed here."
        ),
        "member": Column("member", unknown="nobody" if facts.members is not None else "unknown"),
        "why": Column("why", width="large"),
        "unknown_reason": Column("what is not known", unknown="", width="large"),
    }
    for optional in ("unknown_reason", "commit_age_seconds"):
        if table[optional].null_count() == table.height:
            del columns[optional]
    tables.show(
        table,
        columns,
        view=view,
        key="group-partitions",
        alt=f"Partitions of {group} with offsets, lag and status, the worst first",
        noun="partitions",
    )
    note = grouppage.left_over(offsets)
    if note is not None:
        st.caption(escape(note))

with components.guarded(), st.expander("Raw facts"):
    row = queries.newest(view, GROUPS).filter(pl.col("group") == group)
    if not row.is_empty():
        raw = row.row(0, named=True)
        st.markdown(
            "\n".join(
                f"- {name}: **{'unknown' if raw[column] is None else escape(str(raw[column]))}**"
                for name, column in (
                    ("state", "state"),
                    ("type", "type"),
                    ("assignor", "protocol"),
                    ("coordinator", "coordinator"),
                    ("kind", "kind"),
                )
            )
        )
        if raw["unknown_reason"]:
            st.markdown(f"Not known: {escape(raw['unknown_reason'])}")
    for topic in grouppage.topics_of(facts):
        pages.link(pages.TOPIC, f"Topic {escape(topic)}", {"topic": topic})
