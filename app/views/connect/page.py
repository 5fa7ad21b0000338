"""Do the pipes run?"""

import contextlib
from collections.abc import Mapping
from datetime import datetime

import polars as pl
import streamlit as st

from alerting.errors import AlertingError
from alerting.rules.matchers import Acknowledgement
from app.data import alert_store, history_queries, present, queries
from app.data.context import current
from app.style import columns
from app.style.charts.lines import series_chart
from app.style.columns import DASH, Column
from app.style.format import BRIEFLY, age, count, escape, exact
from app.ui import (
    common_values,
    components,
    incident_list,
    open_incidents,
    present_incidents,
    routes,
    tables,
)
from app.ui.browser import items
from app.ui.time_axis import note_of, page_axis
from app.views.connect import needs, view_model
from lake.errors import LakeError
from lake.schemas.current import GROUP_STATUS, OPEN_ALERTS
from lake.schemas.tables import CONNECTOR_TASKS, CONNECTORS, MIRROR_OFFSETS

NAMED_SINKS = 5
ALWAYS = ("connector", "status", "running", "group", "time_lag_seconds", "loss")
"""Columns that stay where all connectors have the same in them."""

view = current()
workers = {each.name: each for each in view.settings.connect}
workers = {
    name: each for name, each in workers.items() if view.settings.cluster_of(each) == view.cluster
}
if not workers:
    components.headline("No Kafka Connect is watched here")
    components.nothing(
        f"Where connectors run beside the cluster {escape(view.cluster)}, name the REST address of "
        "one worker in the configuration, then start the collectors again. Whoever runs none has "
        "nothing to do."
    )
    components.code(view_model.HOW_TO_CONFIGURE.format(cluster=view.cluster))
    st.stop()

with components.required("The connectors cannot be shown"):
    attempts = queries.collections(view).filter(
        pl.col("source").is_in([f"connect/{name}" for name in workers])
    )
    connectors = view_model.present(queries.recent(view, CONNECTORS), attempts, "connectors")

alerts, groups = OPEN_ALERTS.empty, GROUP_STATUS.empty
with components.guarded():
    alerts = present.open_alerts(view)
with components.guarded():
    groups = present.rows(view, GROUP_STATUS)
connectors = view_model.with_status(connectors)
connectors = view_model.with_since(connectors, alerts, zone=view.zone, now=view.now)
connectors = view_model.with_groups(connectors, groups, view.now)
tasks, mirrors = CONNECTOR_TASKS.empty, MIRROR_OFFSETS.empty
errors: list[LakeError] = []
try:
    tasks = view_model.present(queries.recent(view, CONNECTOR_TASKS), attempts, "connectors")
    tasks = view_model.tasks_of(tasks, connectors)
except LakeError as error:
    errors.append(error)
try:
    mirrors = view_model.present(queries.recent(view, MIRROR_OFFSETS), attempts, "mirrors")
except LakeError as error:
    errors.append(error)

failed = view_model.failed_tasks(tasks)
lags = mirrors["lag"].drop_nulls()
lag, unknown = (int(lags.sum()) if lags.len() else None), mirrors.height - lags.len()
newest = attempts.filter(
    pl.col("status").is_in(["ok", "partial", "failed"])
    & (pl.col("observed_at") == pl.col("observed_at").max().over("source"))
).sort("section")
wrong = newest.filter(pl.col("status") != "ok")
if not connectors.is_empty():
    components.headline(*map(escape, view_model.sentence(connectors, failed, lag, unknown)))
elif newest.is_empty():
    components.headline("Kafka Connect was not read yet")
    components.nothing("No poll has reached it; Monitoring health shows why.")
elif newest.filter((pl.col("status") == "failed") | (pl.col("rows") > 0)).height:
    components.headline("What the connectors do is unknown")
else:
    components.headline("There is no connector", "Kafka Connect was read and runs none.")

for unreadable in errors:
    components.show_broken(unreadable)
for attempt in wrong.iter_rows(named=True):
    st.warning(
        f"**{escape(attempt['section'].removeprefix('connect/'))}** "
        f"{'could not be read' if attempt['status'] == 'failed' else 'was read in part'}: "
        f"{escape(attempt['error'] or 'no reason was given')}",
        icon=":material/sync_problem:",
    )
if connectors.is_empty():
    st.stop()

read_at = connectors["observed_at"].min()
if isinstance(read_at, datetime):
    seconds = (view.now - read_at).total_seconds()
    slowest = max(view.settings.poll_interval_seconds(each) for each in workers.values())
    colour = components.age_colour(seconds, slowest)
    st.caption(f"Read :{colour}[{age(seconds)}] from {escape(', '.join(workers))}")

sinks = connectors.filter(pl.col("type") == "sink")
idle = connectors.filter(
    pl.col("rank") == view_model.BADGE_STYLES.index(view_model.NO_TASKS)
).height
silent = sinks.filter(
    pl.col("dead_letter_topic").is_null() & (pl.col("errors_tolerance") == "all")
).height
with st.grid(5, min_column_width=124, gap="small"):
    components.tile(
        "Connectors",
        exact(connectors.height),
        delta=f"{count(sinks.height, 'sink')}, {connectors.height - sinks.height} other",
    )
    components.tile(
        "Tasks running",
        view_model.total(connectors, "tasks_running"),
        delta=f"of {view_model.total(connectors, 'tasks')}",
    )
    failures = int(connectors["tasks_failed"].sum())
    components.tile(
        "Tasks failed",
        view_model.total(connectors, "tasks_failed"),
        delta="stay so until restarted" if failures else "none",
        colour="red" if failures else "off",
    )
    components.tile(
        "Without tasks",
        exact(idle),
        delta="move nothing" if idle else "none",
        colour="red" if idle else "off",
        help_text="A connector that is running and has no task. Those that somebody stopped "
        "are not counted.",
    )
    components.tile(
        "Failures dropped",
        exact(silent),
        delta="sinks without a trace" if silent else "by no sink",
        colour="orange" if silent else "off",
        help_text="Sinks that pass failures over (errors.tolerance: all) and keep no dead letters.",
    )

loses = bool((connectors["loss"] != "").any())
rows = view_model.table_rows(connectors, tasks)
acknowledged: Mapping[str, Acknowledgement] = {}
with contextlib.suppress(AlertingError):  # the page Alerts says so
    acknowledged = alert_store.acknowledged(view)
with components.guarded():
    urls = {name: each.url for name, each in workers.items()}
    details = needs.details(connectors, failed)
    commands = needs.restarts(rows, urls)
    here_now = [
        one for one in present_incidents.here(view) if needs.connectors_of(one, workers.keys())
    ]
    found = open_incidents.told(view, here_now)
    which = [needs.connectors_of(one, workers.keys()) for one in found]
    listed = incident_list.items(found, view, acknowledged=acknowledged, stored=present.runs(view))
    listed = [
        *(
            needs.with_details(item, of, details, commands)
            for item, of in zip(listed, which, strict=True)
        ),
        *needs.without_alert(rows, {key for of in which for key in of}, details),
    ]
    if listed:
        items.draw(
            listed,
            view=view,
            heads=incident_list.HEADS,
            key="connect-needs",
            alt="What is wrong with connectors, and what to do about it, the worst first",
        )
    texts = list(commands.values())
    for text in texts[: needs.SEEN_COMMANDS]:
        components.code(text)
    if rest := texts[needs.SEEN_COMMANDS :]:
        with st.expander(f"{count(len(rest), 'more command')}"):
            for text in rest:
                components.code(text)

name_width = columns.word_width(rows["connector"], least=110, most=160)
group_width = columns.word_width(rows["group"], least=120, most=190)
fixed = [name_width, 122, group_width, 86, 150 if loses else None, 104, 150]
shown, same = common_values.told_apart(
    rows,
    {
        "connector": Column("connector", width=name_width),
        "status": Column("status", "status", badge_styles=view_model.BADGE_STYLES, width=122),
        "running": Column(
            "tasks running",
            width=104,
            help="Of those it was split into; in brackets tasks.max, where that is another number.",
        ),
        "group": Column(
            "group",
            width=group_width,
            opens=(routes.GROUP, "group"),
            help="A sink's consumer group.",
        ),
        "time_lag_seconds": Column(
            "its time lag",
            "duration",
            width=86,
            help="How old the oldest message is that the sink has not read yet.",
        ),
        **(
            {
                "loss": Column(
                    "data loss", width=150, help="When retention deletes what was not read yet."
                )
            }
            if loses
            else {}
        ),
        "dead_letters": Column(
            "dead letters go to",
            width=150,
            help="Dropped: failures are passed over without a trace. None: the first failure "
            "stops the task.",
        ),
        "topic_names": Column("topics", unknown=DASH, width=columns.room_left(fixed)),
    },
    always=ALWAYS,
)
tables.show(
    rows,
    shown,
    view=view,
    key="connect-table",
    alt="Connectors with their tasks, consumer groups, dead letters and topics",
    noun="connectors",
    in_file={
        **same,
        "failing": Column("failing", help=f"Since when. {BRIEFLY}"),
        "why": Column("why", unknown=""),
        "tasks_failed": Column("tasks failed", "count"),
        "state": Column("state"),
        "type": Column("type"),
        "kind": Column("kind"),
        "worker": Column("worker"),
        "connect": Column("Connect"),
        "unknown_reason": Column("why unknown", unknown=DASH),
    },
)
if why := common_values.why_unknown(rows, "connector"):
    st.caption(escape(why))

if slowest_groups := view_model.groups_of_sinks(connectors, groups, NAMED_SINKS):
    with components.section(
        "Lag of sinks",
        unit="messages waiting",
        log_key="connect-lag-log",
        help_text="Of their consumer groups: those with the highest lag now.",
        is_folded=view.is_phone,
    ) as log:
        history = history_queries.group_history(view, slowest_groups)
        components.chart(
            series_chart(
                history.frame,
                by="group",
                value="lag",
                axis=page_axis(view, history),
                palette=view.palette,
                step_seconds=history.step_seconds,
                limit=NAMED_SINKS,
                height=150,
                log=log,
            ),
            key="connect-lag",
            alt="Messages that sinks have not read, over time: those with the highest lag",
            note=note_of(view, history),
        )

if not mirrors.is_empty():
    with components.section(
        "MirrorMaker 2",
        help_text="Messages of the source cluster that are not copied yet, by the offsets that "
        "the connector commits: once a minute, unless configured otherwise.",
        is_folded=view.is_phone,
    ):
        tables.show(
            view_model.mirror_rows(mirrors),
            {
                "connector": Column("connector", width=150),
                "source_cluster": Column("from"),
                "topic": Column("topic", width=190),
                "lag": Column("not copied yet", "count"),
                "partitions": Column("partitions", "count"),
                "unknown": Column("of unknown lag", "count"),
                "unknown_reason": Column("what is not known", unknown=DASH, width="large"),
                "connect": Column("Connect"),
            },
            view=view,
            key="connect-mirrors",
            alt="Topics that MirrorMaker 2 copies, with what is not copied yet",
            noun="topics",
        )
