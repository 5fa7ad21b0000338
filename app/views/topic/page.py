"""What does a topic carry, and who reads it?"""

from datetime import timedelta

import polars as pl
import streamlit as st

from alerting.inputs.facts import at_newest_poll
from alerting.status.model import Status
from app.data import history_queries, present, queries, recent_samples, sampled, schema_registry
from app.data.context import current
from app.data.history import TOPIC
from app.style.charts.colours import colour_of
from app.style.charts.heatmaps import bars
from app.style.charts.lines import Line, columns_chart
from app.style.columns import DASH, NEVER, Column
from app.style.format import BRIEFLY, count, duration, escape, exact, rate, share, short, size, thin
from app.ui import (
    components,
    open_alerts,
    routes,
    seasons,
    tables,
    topic_list,
)
from app.ui.advice import current_advice, forecast
from app.ui.changes import change_list, event_marks, events, page_events, relevant
from app.ui.group_badges import BADGE_STYLES
from app.ui.time_axis import note_of, page_axis
from lake.schemas.current import GROUP_STATUS, READERS, TOPIC_STATUS
from lake.schemas.tables import PARTITIONS, TOPIC_HISTORY
from scaling.advice.model import Subject

_RATES_OVER = timedelta(minutes=5)

view = current()
with components.required("The topic cannot be shown"):
    known = topic_list.rows(present.rows(view, TOPIC_STATUS))

topic, heading = components.chosen(
    "topic",
    known["topic"],
    routes.TOPICS,
    "was deleted, is not watched, or may not be described",
)

found = known.row(by_predicate=pl.col("topic") == topic, named=True)
samples_of = PARTITIONS.empty
with components.guarded():
    # Charts are drawn from more: it is read once.
    samples_of = queries.recent_of(view, PARTITIONS, "topic", topic).filter(
        pl.col("observed_at") >= view.now - _RATES_OVER
    )
hot = found["hot_partitions"] or []
newest = at_newest_poll(samples_of)
brokers = newest["replicas"].explode().drop_nulls().unique().to_list()
rows = topic_list.partition_rows(
    newest, recent_samples.latest_rates(samples_of, view.interval_seconds), hot
)
readers = READERS.empty
with components.guarded():
    readers = present.rows(view, READERS).filter(pl.col("topic") == topic)
deletes_unread = topic_list.losses(readers)
with heading, st.container(horizontal=True, vertical_alignment="center"):
    st.title(escape(topic), anchor=False, width="content")
    if deletes_unread:
        components.badge(BADGE_STYLES[Status.LOSING_DATA], note="See the groups that read it.")
    components.badge(topic_list.REPLICATION[found["replication"] or "unknown"])

arriving = found["arrival_per_second"]
retention = found["retention_seconds"]
with components.guarded():
    readers = topic_list.reader_rows(readers, present.rows(view, GROUP_STATUS))
sentence = f"{deletes_unread}. " if deletes_unread else ""
means = "" if arriving is None else " (mean of 5 min)"
sentence += f"{rate(arriving)} arrive{means} on {count(found['partitions'], 'partition')}; "
if readers.is_empty():
    sentence += "no group is known to read it."
elif found["slowest_group"] is None:
    sentence += f"{count(readers.height, 'group reads', 'groups read')} it."
else:
    sentence += (
        f"{count(readers.height, 'group reads', 'groups read')} it, the slowest is "
        f"{found['slowest_group']}, {duration(found['slowest_time_lag_seconds'])} behind."
    )
if found["unknown_reason"]:
    sentence += f" Not known: {found['unknown_reason']}."
with components.beside_each_other():
    st.markdown(escape(thin(sentence)), width="content")
    open_alerts.draw(view, "topic", topic, readers=readers["group"].to_list())
components.say_what_is_of_now(view)

unread_left, left_colour = topic_list.reaches_unread(readers, view.now)
usual = seasons.season(view, "topic", topic, "arrival_per_second")
with st.grid(6, min_column_width=124, gap="small"):
    written, colour = seasons.delta(seasons.usual(usual, view.now), arriving, "in all partitions")
    components.tile(
        "Arriving, 5 min",
        rate(arriving),
        delta=written,
        colour=colour,
        help_text=f"{topic_list.WINDOW} Usual is the median of this hour of the week.",
    )
    components.tile(
        "Busiest partition",
        share(found["busiest_ratio"]),
        delta=f"even: {share(found['even_ratio'])}" if found["even_ratio"] else "too few",
        colour="orange" if hot else "off",
        help_text="Its share of the topic's messages.",
    )
    components.tile(
        "Retained",
        short(found["retained"]),
        delta="offsets",
        help_text="Log end minus log start. Offsets are not messages on compacted topics.",
    )
    components.tile(
        "Retention",
        "no limit" if retention == NEVER else duration(retention),
        delta=unread_left,
        colour=left_colour,
        help_text="Messages are deleted after this time, whether they were read or not: below is "
        "how soon that reaches one that a group has not read.",
    )
    components.tile(
        "Replicas",
        exact(found["replication_factor"]),
        delta=f"min ISR {exact(found['min_in_sync_replicas'])}",
        help_text="Copies of each partition; with fewer in sync than min ISR, producers with "
        "acks=all are refused.",
    )
    components.tile("Size", size(found["size_bytes"]), delta="all replicas")

why_unknown = recent_samples.why_no_rate(samples_of, ["log_end"], polls=2)
if arriving is None:
    st.caption(why_unknown)

left, right = st.columns([3, 2], gap="medium")
with components.guarded():
    history = sampled.of_topic(view, topic) or history_queries.topic_history(view, [topic])
    with left, components.heading("Arriving", unit="messages a second"):
        before = seasons.choice()
        log = components.log_switch("topic-log")
        marks = event_marks.choose(page_events.of_topic(view, topic))
    axis = page_axis(view, history, marks, part=0.6)
    with left, components.guarded():
        components.chart(
            columns_chart(
                history.frame,
                [
                    Line(
                        column="arrival_per_second",
                        name="arriving",
                        colour=colour_of(topic, view.palette),
                    )
                ],
                axis=axis,
                palette=view.palette,
                step_seconds=history.step_seconds,
                log=log,
                height=100 if view.is_phone else 190,
                legend_lines=1,  # begins as high as the bars beside it, with a band or without
                band=seasons.band(usual, view),
                ghost=seasons.ghost(view, before, TOPIC_HISTORY, "topic", topic, TOPIC[0]),
            ),
            key="topic-arriving",
            alt=f"Messages a second that arrive in {topic}, over time",
            note=note_of(view, history),
        )
        seasons.draw_changes(view, "topic", topic)
with (
    right,
    components.section(
        "Arriving by partition",
        unit="messages a second",
        help_text="From the ends of the partitions' logs over the last five minutes. Amber is hot: "
        "far more than the others, over ten minutes.",
        is_folded=view.is_phone,
    ),
):
    if rows["arrival"].null_count() == rows.height:
        components.nothing(why_unknown, icon=":material/hourglass:")
    else:
        components.chart(
            bars(
                rows,
                label="partition",
                value="arrival",
                palette=view.palette,
                unit="messages a second",
                even=arriving / rows.height if arriving and rows.height > 1 else None,
                marked="is_hot",
                height=190,
            ),
            key="topic-partitions",
            alt=f"Messages a second of each partition of {topic}",
            note="Dotted: an even share.",
        )

with components.section("Groups that read it"):
    if readers.is_empty():
        components.nothing("No group with committed offsets reads this topic.")
    else:
        tables.show(
            readers,
            {
                "group": Column("group", width=200, opens=(routes.GROUP, "group")),
                "label": Column(
                    "status", "status", badge_styles=list(BADGE_STYLES.values()), width=125
                ),
                "since": Column(
                    "since",
                    "time",
                    unknown=DASH,
                    help=f"Since when the group has this status. {BRIEFLY}",
                    width=88,
                    at_least="since_at_least",
                ),
                "lag": Column("lag here", "count"),
                "time_lag_seconds": Column("time lag", "duration"),
                "unknown_partitions": Column(
                    "lag unknown", "count", help="Partitions that are missing in the lag."
                ),
                "members": Column("members", "count"),
            },
            view=view,
            key="topic-groups",
            alt=f"Groups that read {topic}, the slowest first",
            noun="groups",
        )

with components.section("Partitions", is_folded=view.is_phone):
    tables.show(
        rows,
        {
            "partition": Column("partition", "count"),
            "label": Column(
                "replication",
                "status",
                badge_styles=list(topic_list.REPLICATION.values()),
                width=135,
            ),
            "arrival": Column("arriving", "rate", help=topic_list.WINDOW),
            "leader": Column("leader", "count", unknown="none"),
            "replicas": Column("replicas"),
            "in_sync_replicas": Column("in sync", help="In-sync replicas (ISR)."),
            "log_start": Column("log start", "count"),
            "log_end": Column("log end", "count"),
            "retained": Column("retained", "count"),
            "size_bytes": Column("size", "size"),
            **(
                {"unknown_reason": Column("what is not known", unknown="", width="large")}
                if rows["unknown_reason"].count()
                else {}
            ),
        },
        view=view,
        key="topic-table",
        alt=f"Partitions of {topic} with leader, replicas, offsets and size",
        noun="partitions",
    )

with components.section("Advice"):
    current_advice.draw(view, Subject.TOPIC, topic)

with components.section("Expected to arrive", unit="messages a second", is_folded=view.is_phone):
    forecast.draw(view, "topic", topic)

tiers = topic_list.tier_rows(rows)
if not tiers.is_empty():
    with components.section(
        "Tiered storage",
        help_text="Closed segments are copied to remote storage, and leave the disks when local "
        "retention says so. Records of the open segment are always among those not copied.",
        is_folded=view.is_phone,
    ):
        st.markdown(topic_list.tier_sentence(tiers))
        tables.show(
            tiers,
            {
                "partition": Column("partition", "count"),
                "log_start": Column("log start", "count"),
                "local_log_start": Column("on disks from", "count"),
                "remote_log_end": Column("copied up to", "count"),
                "log_end": Column("log end", "count"),
                "remote_only": Column("in remote storage alone", "count"),
                "not_copied": Column(
                    "not copied", "count", help="Grows while copying falls behind."
                ),
            },
            view=view,
            key="topic-tiers",
            alt=f"Partitions of {topic}: what lies on disks, and what in remote storage",
            noun="partitions",
        )

if schema_registry.is_watched(view):
    with components.section(
        "Schemas",
        help_text="Subjects of the Schema Registry that are named after the topic, as "
        "TopicNameStrategy does. A change of version or compatibility is among what changed.",
        is_folded=view.is_phone,
    ):
        subjects = schema_registry.subjects(view).filter(pl.col("topic") == topic)
        if subjects.is_empty():
            components.nothing("No subject is named after this topic, or none was read yet.")
        else:
            tables.show(
                subjects,
                {
                    "subject": Column("subject", width=190),
                    "version": Column("newest version", "count"),
                    "schema_id": Column("schema id", "count", unknown=DASH),
                    "schema_type": Column("type", unknown=DASH),
                    "compatibility": Column("compatibility"),
                    "set_on": Column("set on", help="The subject has its own, or the registry's."),
                    "mode": Column("mode", unknown=DASH),
                    "state": Column("state", unknown=""),
                    "read_at": Column("read", "time", unknown=DASH),
                    "schema_registry": Column("registry"),
                    "unknown_reason": Column("what is not known", unknown="", width="large"),
                },
                view=view,
                key="topic-schemas",
                alt=f"Subjects of the Schema Registry that are named after {topic}",
                noun="subjects",
            )

with components.guarded():
    transactions = queries.open_transactions(view, topic)
    if not transactions.is_empty():
        with components.section(
            "Open transactions",
            help_text="Open for more than a minute. Readers of committed records wait behind them.",
            is_folded=view.is_phone,
        ):
            tables.show(
                transactions,
                {
                    "transactional_id": Column("transactional id", width=240),
                    "state": Column("state"),
                    "started_at": Column("since", "time"),
                    "timeout_seconds": Column(
                        "time-out", "duration", help="The coordinator aborts it after that."
                    ),
                    "producer_id": Column("producer id", "count"),
                    "coordinator": Column("coordinator", "count"),
                },
                view=view,
                key="topic-transactions",
                alt=f"Transactions on {topic} that are open for more than a minute",
                noun="transactions",
            )

with components.section("What changed", is_folded=view.is_phone):
    change_list.draw(
        view,
        events.of_changes(relevant.about_topic(queries.cluster_events(view), topic, brokers)),
        key="topic-changes",
        nothing=f"Nothing was seen to change {view.period}.",
    )

with components.guarded(), st.expander("Settings that differ from the default"):
    settings = queries.topic_settings(view, topic)
    entries = settings["configs"].to_list()[0] if settings.height else None
    if entries is None:
        components.nothing("The topic's settings could not be read.", icon=":material/help:")
    elif not entries:
        st.caption("None.")
    else:
        lines = [f"{entry['key']}={entry['value']}" for entry in entries]
        components.code("\n".join(lines))
