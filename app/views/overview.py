"""Is anything wrong, and what first?"""

from dataclasses import replace
from datetime import timedelta

import polars as pl
import streamlit as st

from alerting.attention import AttentionItem, attention, headline
from app import components, decisions, expected, overview, pages, queries, tables
from app.axis import page_axis
from app.charts.lines import Line, columns_chart, series_chart
from app.format import clock, count, duration, escape, exact, rate, short, thin
from app.groups import LATE
from app.history import CLUSTER, DEAD_LETTER, TIME
from app.tables import Column
from app.view import current

LISTED, MOST = 4, 10
NAMED_SERIES = 5

view = current()
gathered = decisions.gather(view)
facts = gathered.facts
found = attention(facts)

first_sentence, _, rest = headline(found, facts).partition(". ")
if gathered.errors and not found:
    components.headline("What needs you cannot be told")
else:
    components.headline(
        first_sentence.rstrip("."),
        "Some tables cannot be read: there may be more." if gathered.errors else escape(thin(rest)),
    )
for error in gathered.errors:
    components.show_broken(error)


def draw_item(item: AttentionItem) -> None:
    """Draw an item of the list: how urgent, what, since and until when; why and what to do."""
    with st.container(gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            components.badge(overview.LOOKS[item.severity])
            st.markdown(f"**{escape(item.what)}**", width="content")
            if item.since is not None:
                when = clock(decisions.moment(item.since), view.zone, now=view.now)
                st.caption(
                    f"{'before' if item.since_at_least else 'since'} {when}", width="content"
                )
            hurts = overview.deadline(item, view.now)
            if hurts:
                st.markdown(hurts, width="content")
            parameters = {key: text for key, text in item.link.params.items() if key != "cluster"}
            subject = parameters.get("group") or parameters.get("name")
            page = item.link.page
            pages.link(
                page,
                f"open {escape(subject)}" if subject else f"open {page.replace('_', ' ')}",
                parameters,
            )
        st.markdown(
            f"{escape(thin(item.why))}  \n:gray[:material/arrow_forward: {escape(item.step)}]"
        )
        if item.folded:
            st.caption(
                f"{count(len(item.folded), 'symptom')} of the same cause",
                help="\n".join(f"- {escape(thin(text))}" for text in item.folded),
            )


if len(view.settings.clusters) > 1:
    others = [
        (one.name, decisions.gather(replace(view, cluster=one.name)))
        for one in view.settings.clusters
    ]
    tables.show(
        overview.cluster_rows([(name, one.facts, one.missing) for name, one in others]),
        {
            "cluster": Column("cluster", width=170),
            "act_now": Column("act now", "count"),
            "watch": Column("to watch", "count"),
            "groups": Column("groups", "count"),
            "lag": Column("lag", "count", help="Unknown where a group's lag is."),
            "under_replicated": Column("out of sync", "count"),
            "offline": Column("offline", "count"),
            "age_seconds": Column("newest poll", "duration", unknown="never"),
        },
        view=view,
        key="overview-clusters",
        alt="Clusters with what needs somebody, the one with most to do first",
        noun="clusters",
    )

if found:
    with st.container(border=True, gap="small"):
        for item in found[:LISTED]:
            draw_item(item)
        if len(found) > LISTED:
            more = found[LISTED:MOST]
            with st.expander(f"{len(more)} more of {len(found)}, less urgent"):
                for item in more:
                    draw_item(item)
elif not gathered.errors:
    components.nothing(
        "No group is late, no partition is at risk, no dead letter waits.", icon=":material/check:"
    )

course, letters = queries.nothing_yet(CLUSTER), queries.nothing_yet(DEAD_LETTER)
with components.guarded():
    course = queries.cluster_history(view).frame
with components.guarded():
    letters = queries.dead_letter_history(view).frame
with components.guarded():
    statuses = {fact.group: fact.status for fact in facts.groups}
    slowest = max(
        statuses,
        key=lambda group: statuses[group].numbers.behind_seconds or -1.0,
        default=None,
    )
    behind = statuses[slowest].numbers.behind_seconds if slowest else None
    lags = [status.numbers.lag for status in statuses.values()]
    known_lags = [lag for lag in lags if lag is not None]
    unknown_groups = sum(1 for status in statuses.values() if status.unknown_partitions)
    late = sum(status.status in LATE for status in statuses.values())
    cluster = facts.clusters[0] if facts.clusters else None
    dead_rate = [fact.arrivals_per_second for fact in facts.dead_letters]
    known_dead = [one for one in dead_rate if one is not None]
    idle = sum(fact.idle for fact in facts.idle)
    idle_known = "groups" not in gathered.missing and bool(statuses)
    grown = overview.growth(course, "lag")
    with st.grid(6, min_column_width=124, gap="small"):
        components.tile(
            "Slowest group",
            duration(behind),
            delta=escape(slowest) if slowest and behind is not None else "no delay is known",
            colour="red" if slowest and statuses[slowest].status in LATE else "off",
            trend=overview.course(course, "time_lag_seconds"),
            help_text="How old the oldest message is that a group has not read yet: the group "
            "that is furthest behind.",
        )
        components.tile(
            "Lag",
            short(sum(known_lags)) if known_lags else "unknown",
            delta=f"without {count(unknown_groups, 'group')}"
            if unknown_groups
            else grown or ("what is known" if known_lags else "not read"),
            colour="violet" if unknown_groups else "red" if late else "off",
            trend=overview.course(course, "lag"),
            help_text="Messages that wait, over all groups: log end minus committed offset. "
            "What could not be read is not in it.",
        )
        arriving = course["arrival_per_second"].drop_nulls()
        components.tile(
            "Arriving",
            rate(arriving[-1]) if arriving.len() else "unknown",
            delta="all topics",
            trend=overview.course(course, "arrival_per_second"),
            help_text="Messages a second that all topics of the cluster receive.",
        )
        under = cluster.under_replicated if cluster else None
        below = cluster.under_min_isr if cluster else None
        offline = cluster.offline if cluster else None
        components.tile(
            "Out of sync",
            exact(under),
            delta=f"{exact(offline)} offline" if offline else f"{exact(below)} below min ISR",
            colour="red" if below or offline else "orange" if under else "off",
            trend=overview.course(course, "under_replicated"),
            help_text="Partitions with fewer in-sync replicas (ISR) than replicas. Below "
            "min.insync.replicas producers with acks=all are refused; offline has no leader.",
        )
        components.tile(
            "Dead letters",
            rate(sum(known_dead))
            if known_dead
            else "unknown"
            if dead_rate or "dead_letters" in gathered.missing
            else "none",
            delta=count(len(dead_rate), "topic") if dead_rate else "no topic is known",
            colour="orange" if any(known_dead) else "off",
            trend=overview.course(
                letters.group_by(TIME).agg(pl.col("arrival_per_second").sum()),
                "arrival_per_second",
            ),
            help_text="Messages that arrive in dead-letter topics.",
        )
        components.tile(
            "Idle consumers",
            exact(idle if idle_known else None),
            delta=f"in {count(len(facts.idle), 'group')}" if idle else "in no group",
            help_text="Members of groups that hold no partition.",
        )

axis = None
with components.guarded():
    groups = queries.group_history(view)
    axis = page_axis(
        view,
        groups.first,
        overview.broker_events(course),
        step_seconds=groups.step_seconds,
    )
    left, right = st.columns(2, gap="medium")
    with left, components.section("Lag by group", log_key="overview-log") as log:
        lag_figure = series_chart(
            groups.frame,
            by="group",
            value="lag",
            axis=axis,
            palette=view.palette,
            step_seconds=groups.step_seconds,
            y_title="messages waiting",
            limit=NAMED_SERIES,
            legend_columns=2,
            log=log,
        )
        components.chart(
            lag_figure,
            key="lag-by-group",
            alt="Messages waiting over time: the groups with the highest lag and the others' sum",
            note=groups.note,
        )
    with (
        right,
        components.section(
            "Arriving and consumed",
            help_text="What arrives for all groups against what they consume. A message that two "
            "groups read counts twice, on both sides.",
        ),
    ):
        flows = groups.frame.group_by(TIME).agg(
            pl.col("arrival_per_second", "consumption_per_second").sum()
        )
        components.chart(
            columns_chart(
                flows,
                [
                    Line("arrival_per_second", "arriving"),
                    Line("consumption_per_second", "consumed"),
                ],
                axis=axis,
                palette=view.palette,
                step_seconds=groups.step_seconds,
                y_title="messages a second",
                height=lag_figure.layout.height,
            ),
            key="flows",
            alt="Messages a second that arrive for all groups and that they consume, over time",
        )

    contributing = expected.contributors(view)
    if not contributing.is_empty():
        with components.section(
            "What changed most in a week",
            help_text="Topics whose arrival differs most from the week before.",
        ):
            tables.show(
                contributing,
                {
                    "topic": Column("topic", pinned=True, opens=(pages.TOPIC, "topic")),
                    "before_per_second": Column("the week before", "rate"),
                    "now_per_second": Column("this week", "rate"),
                    "change_per_second": Column("change", "rate"),
                    "share_ratio": Column(
                        "share", "share", help="Of all changes in the same direction."
                    ),
                },
                view=view,
                key="contributors",
                alt="Topics whose arrival changed most in a week, the largest change first",
                noun="topics",
                rows_shown=5,
            )

    with components.section("Changes in the last hour"):
        changed = overview.changes(groups.frame, course, since=view.now - timedelta(hours=1))
        if changed:
            st.markdown(
                "\n".join(
                    f"- :gray[{clock(change.at, view.zone, now=view.now)}]&nbsp; "
                    f"{escape(change.text)}"
                    for change in changed[:8]
                )
            )
        else:
            components.nothing(
                "No group started or stopped, no broker and no topic came or went.",
                icon=":material/check:",
            )
