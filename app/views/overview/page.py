"""Is anything wrong, and what first?"""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import streamlit as st

from alerting.errors import AlertingError
from alerting.rules.matchers import Acknowledgement
from app.data import alert_store, history_queries, others, peaks, present, sampled
from app.data.context import current
from app.data.history import CLUSTER, History
from app.data.time_range import DEFAULT_RANGE, RANGES
from app.style.charts.base import plot_height
from app.style.charts.lines import Ghost, Line, columns_chart, series_chart
from app.style.columns import Column
from app.style.format import count, duration, escape, exact, per_minute, rate, short, thin
from app.ui import (
    brokers_up,
    components,
    incident_list,
    losses,
    open_incidents,
    present_incidents,
    routes,
    seasons,
    tables,
)
from app.ui.advice import forecast
from app.ui.browser import items, prose
from app.ui.changes import change_list, deploy_form, event_marks, page_events
from app.ui.group_list import is_late
from app.ui.time_axis import end_of, note_of, page_axis
from app.views.overview import view_model
from lake.schemas.current import CLUSTER_STATUS, GROUP_STATUS

FOLDED = 50
NAMED_SERIES = 5
_LEGEND_LINES = 2
"""Of names of groups above a chart of half the page: both charts begin at one height."""

view = current()
groups = cluster = found = None
with components.guarded():
    groups = present.rows(view, GROUP_STATUS)
    cluster = present.rows(view, CLUSTER_STATUS)
    found = present_incidents.here(view)
if groups is None or cluster is None or found is None:
    components.headline("What needs you is not known")
    st.stop()

up = brokers_up.UNKNOWN
with components.guarded():
    up = brokers_up.here(view)
acknowledged: Mapping[str, Acknowledgement] = {}
who_is_unknown = ""
try:
    acknowledged = alert_store.acknowledged(view)
except AlertingError as unread:
    who_is_unknown = f"Who looks after what is not known: {unread}"
title, detail = view_model.headline(found, groups, brokers=up.said, acknowledged=acknowledged)
unreadable = present.unreadable(view)
if unreadable and not found:
    title = "What needs you is not known"
components.headline(
    escape(thin(title)),
    "Some tables cannot be read: there may be more." if unreadable else escape(thin(detail)),
)
components.say_what_is_of_now(view)
for error in unreadable:
    components.show_broken(error)

if len(view.clusters) > 1:
    names = view.clusters
    with components.guarded():
        tables.show(
            view_model.cluster_rows(
                names,
                pl.concat(
                    present.rows(replace(view, cluster=one), CLUSTER_STATUS) for one in names
                ),
                present_incidents.everywhere(view),
                view.now,
                acknowledged,
            ),
            {
                "cluster": Column("cluster", width=170),
                "act_now": Column("act now", "count"),
                "looked_after": Column("looked after", "count"),
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

stored = present.runs(view)
# One below the other with little space, so that charts begin high.
with st.container(gap="xxsmall"):
    if found:
        seen, rest = view_model.shown(open_incidents.told(view, found))
        lost = losses.said(view, [*seen, *rest])
        if who_is_unknown:
            st.caption(escape(who_is_unknown))
        rows, folded = (
            incident_list.items(causes, view, acknowledged=acknowledged, lost=lost, stored=stored)
            for causes in (seen, rest[:FOLDED])
        )
        items.draw(
            rows,
            view=view,
            heads=incident_list.HEADS,
            is_dense=view_model.are_many(rows),
            folded=folded,
            fold=view_model.folded(rest, acknowledged),
            key="overview-needs",
            alt="What needs somebody, the worst and most urgent first",
        )
        if len(rest) > FOLDED:
            routes.link(routes.ALERTS, f"All {len(found)} causes are on the page Alerts")
    elif not unreadable and view_model.none_is_late(groups):
        components.nothing(
            "No group is late, no partition is at risk, no dead letter waits.",
            icon=":material/check:",
        )

whole = History(frame=history_queries.nothing_yet(CLUSTER), step_seconds=60)
with components.guarded():
    whole = sampled.of_cluster(view) or history_queries.cluster_history(view)
if not cluster.is_empty():
    now = cluster.row(0, named=True)
    # All tiles are of the present, whatever range the charts are of.
    of_hour = replace(view, range=RANGES[DEFAULT_RANGE])
    grown = None
    with components.guarded():
        course = history_queries.cluster_history(of_hour).measured
        grown = view_model.growth(course, "lag", now["lag"], now["evaluated_at"])
    with st.grid(6, min_column_width=124, gap="small"):
        slowest = now["slowest_group"]
        slow = groups.filter(
            pl.col("group").eq_missing(pl.lit(slowest, pl.String)), is_late()
        ).height
        components.tile(
            "Slowest group",
            duration(now["time_lag_seconds"]),
            delta=escape(slowest) if slowest else "no delay is known",
            colour="red" if slow else "off",
            help_text="How old the oldest message is that a group has not read yet: the group "
            "that is furthest behind.",
        )
        components.tile(
            "Lag",
            view_model.at_least(short(now["lag"]), is_complete=not now["incomplete_groups"]),
            delta=f"without {count(now['incomplete_groups'], 'group')}"
            if now["incomplete_groups"]
            else grown or ("what is known" if now["lag"] is not None else "not read"),
            colour="violet" if now["incomplete_groups"] else "red" if now["late_groups"] else "off",
            help_text="Messages that wait, over all groups: log end minus committed offset. "
            "What could not be read is not in it.",
        )
        internal = now["internal_arrival_per_second"]
        components.tile(
            "Arriving",
            rate(now["arrival_per_second"]),
            delta=f"and {rate(internal)} internal" if internal else "without internal topics",
            help_text="What all topics of the cluster but internal ones receive, as on Topics: "
            "messages a second, the mean of the last five minutes.",
        )
        below, offline = now["under_min_isr"], now["offline"]
        is_known = up.tells_of(now["under_replicated"])
        components.tile(
            "Out of sync",
            exact(now["under_replicated"] if is_known else None),
            delta=f"{exact(offline)} offline"
            if offline
            else f"{exact(below)} below min ISR"
            if is_known
            else "brokers not known",
            colour="red" if below or offline else "off",
            value_colour="orange" if now["under_replicated"] else None,
            help_text="Partitions with fewer in-sync replicas (ISR) than replicas. Below "
            "min.insync.replicas producers with acks=all are refused; offline has no leader.",
        )
        dead_letter_topics = now["dead_letter_topics"]
        components.tile(
            "Dead letters",
            "none" if dead_letter_topics == 0 else per_minute(now["dead_letters_per_second"]),
            delta=count(dead_letter_topics, "topic") if dead_letter_topics else "no topic is known",
            colour="orange" if now["dead_letters_per_second"] else "off",
            help_text="Messages that arrive in dead-letter topics.",
        )
        components.tile(
            "Idle consumers",
            exact(now["idle_members"]),
            delta=view_model.where_idle(now["idle_groups"], groups),
            help_text="Members of groups that hold no partition.",
        )

axis = None
with components.guarded():
    # Not those of now: what is over by now is what the chart is looked at for.
    drawn = peaks.highest_lag(view, NAMED_SERIES)
    past = sampled.of_groups(view, drawn) or history_queries.group_history(view, drawn)
    unnamed = None
    if name := view_model.others_name(groups, drawn):
        unnamed = Ghost(
            frame=others.lag_of_others(view, drawn),
            name=name,
            step_seconds=view.range.step_seconds,
        )
    left, right = st.columns(2, gap="medium")
    with left, components.heading("Lag by group", unit="messages waiting"):
        log = components.log_switch("overview-log")
        marks = event_marks.choose(
            event_marks.with_lines_first(page_events.of_overview(view), drawn)
        )
    axis = page_axis(view, past, marks, part=0.5)
    with left:
        lag_figure = series_chart(
            past.frame,
            by="group",
            value="lag",
            axis=axis,
            palette=view.palette,
            step_seconds=past.step_seconds,
            limit=NAMED_SERIES,
            legend_lines=_LEGEND_LINES,
            height=150,
            log=log,
            rest=unnamed,
        )
        components.chart(
            lag_figure,
            key="lag-by-group",
            alt="Messages waiting over time: the groups with the highest peaks, and the others",
            note=note_of(view, past),
        )
    with (
        right,
        components.section(
            "Arriving and consumed",
            unit="messages a second",
            help_text="What all topics receive, internal ones too, and what all groups consume: a "
            "message that two groups read counts twice in the latter.",
        ),
    ):
        components.chart(
            columns_chart(
                whole.frame,
                [
                    Line(column="arrival_per_second", name="arriving, internal topics too"),
                    Line(column="consumption_per_second", name="consumed, once a group"),
                ],
                axis=axis,
                palette=view.palette,
                step_seconds=whole.step_seconds,
                legend_lines=_LEGEND_LINES,
                height=plot_height(lag_figure),
            ),
            key="flows",
            alt="Messages a second that all topics receive and all groups consume, over time",
            note=end_of(view, whole, "arrival_per_second"),
        )

    with components.section("Changes in the last hour", is_folded=view.is_phone):
        change_list.draw(
            view,
            page_events.of_last_hour(view),
            key="overview-changes",
            nothing="No group started or stopped, no broker and no topic came or went, nothing "
            "was deployed or set anew.",
        )
        if alerts := page_events.alerts_of_last_hour(view):
            link = items.Target(label="Alerts", page=routes.ALERTS, parameters={})
            prose.draw([f"{alerts}: ", link], view=view, key="overview-alerts")
        deploy_form.draw(view)

    contributing = forecast.contributors(view)
    if not contributing.is_empty():
        is_generated = bool(contributing["generated"].fill_null(value=False).any())
        # What is real stands before what the demo made up.
        with components.section(
            seasons.named("What changed most in a week", is_generated=is_generated),
            help_text="Topics whose arrival differs most from the week before.",
            is_folded=view.is_phone or is_generated,
        ):
            tables.show(
                contributing,
                {
                    "topic": Column("topic", pinned=True, opens=(routes.TOPIC, "topic")),
                    "before_per_second": Column("the week before", "rate"),
                    "now_per_second": Column("this week", "rate"),
                    "change_per_second": Column("change", "change"),
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
