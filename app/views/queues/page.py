"""What waits in RabbitMQ, and where do its dead letters go?"""

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import polars as pl
import streamlit as st

from alerting.errors import AlertingError
from alerting.rules.matchers import Acknowledgement
from app.data import alert_store, present, queries, queue_history
from app.data.context import current
from app.style.charts.lines import series_chart
from app.style.columns import DASH, Column
from app.style.format import age, count, escape, exact, rate
from app.ui import (
    common_values,
    components,
    incident_list,
    open_incidents,
    present_incidents,
    tables,
)
from app.ui.browser import items
from app.ui.time_axis import note_of, page_axis
from app.views.queues import needs, view_model
from lake.schemas.current import OPEN_ALERTS
from lake.schemas.tables import QUEUES

NAMED_SERIES = 5
ALWAYS = (
    *("queue", "status", "ready", "growth_per_second", "publish_per_second"),
    *("deliver_per_second", "goes_to"),
)
"""Columns that stay where all queues have the same in them."""
SAID_ONCE = ("consumers", "state", "vhost")
"""Of the others, those that a line says once; what else all have the same is in the file."""

view = current()
servers = {
    server.name: server for server in view.settings.rabbitmq if view.viewer.sees(server.name)
}
if not servers:
    components.headline("No RabbitMQ is watched")
    components.nothing(
        "Name one in the configuration by its management address, then start the collectors "
        "again. docs/sources.md says which rights its user needs."
    )
    components.code(view_model.HOW_TO_CONFIGURE)
    st.stop()

# RabbitMQ is no Kafka cluster: the choice of the sidebar does not reach here.
name, *more = servers
if more:
    name = st.selectbox("RabbitMQ", list(servers), key="rabbitmq", bind="query-params", width=260)
here = replace(view, cluster=name)
interval = view.settings.poll_interval_seconds(servers[name])
with components.required("The queues cannot be shown"):
    rows = view_model.with_growth(queries.newest(here, QUEUES), queries.recent(here, QUEUES))

with components.guarded():
    attempts = queries.collections(here).filter(pl.col("source") == f"rabbitmq/{name}")
    last = attempts.filter(pl.col("section").str.ends_with(": queues")).sort("observed_at").tail(1)
    for attempt in last.iter_rows(named=True):
        if attempt["status"] in ("failed", "partial"):
            st.warning(
                f"The newest poll {'failed' if attempt['status'] == 'failed' else 'is partial'}: "
                f"{escape(attempt['error'] or 'no reason was given')}",
                icon=":material/sync_problem:",
            )
if rows.is_empty():
    components.headline("No queue is known yet")
    components.nothing("No poll has read a queue; Monitoring health shows why.")
    st.stop()

components.headline(*map(escape, view_model.sentence(rows)))
components.say_what_is_of_now(view)
read_at = rows["observed_at"].max()
read_seconds = (view.now - read_at).total_seconds() if isinstance(read_at, datetime) else None
colour = components.age_colour(read_seconds, interval)
st.caption(f"Read :{colour}[{age(read_seconds)}] from {escape(name)}")

backlog = rows.filter(pl.col("kind") != "stream")
dead = rows.filter(pl.col("kind") == "dead letter")
dropping = rows.filter(pl.col("dead_letter_target_missing")).height
with st.grid(6, min_column_width=124, gap="small"):
    components.tile("Ready", exact(view_model.total(backlog, "ready")), delta="streams left out")
    components.tile(
        "Unacknowledged",
        exact(view_model.total(backlog, "unacknowledged")),
        delta=view_model.held_by(rows),
    )
    components.tile(
        "Published",
        rate(view_model.total(rows, "publish_per_second")),
        delta="by clients",
        help_text=f"{view_model.RATES} Messages that arrive by dead-lettering are not counted as "
        "published.",
    )
    components.tile(
        "Delivered",
        rate(view_model.total(rows, "deliver_per_second")),
        delta=f"{rate(view_model.total(rows, 'redeliver_per_second'))} again",
        help_text=view_model.RATES,
    )
    components.tile(
        "Dead letters",
        exact(view_model.total(dead, view_model.DEPTH) if dead.height else 0),
        delta=f"in {count(dead.height, 'queue')}",
    )
    components.tile(
        "Targets missing",
        exact(dropping),
        delta="dead letters lost" if dropping else "none is lost",
        colour="red" if dropping else "off",
    )

rules = None
acknowledged: Mapping[str, Acknowledgement] = {}
with contextlib.suppress(AlertingError):  # the pages Rules and Alerts say so
    rules = alert_store.rules(view).rules
    acknowledged = alert_store.acknowledged(view)
with components.guarded():
    here_now = [one for one in present_incidents.here(view) if one.cause.labels["cluster"] == name]
    found = open_incidents.told(view, here_now)
    told = set().union(*map(needs.names_of, found))
    listed = incident_list.items(found, view, acknowledged=acknowledged, stored=present.runs(view))
    listed = [
        *(needs.with_links(item, one, rows, view) for item, one in zip(listed, found, strict=True)),
        *needs.without_alert(rows, told, rules),
    ]
    if listed:
        items.draw(
            listed,
            view=view,
            heads=incident_list.HEADS,
            key="queues-needs",
            alt="What is wrong with queues, and what to do about it, the worst first",
        )

alerts = OPEN_ALERTS.empty
with components.guarded():
    alerts = present.open_alerts(view).filter(pl.col("cluster") == name)
table = view_model.table_rows(rows, view.now, alerts)
columns, same = common_values.told_apart(
    table,
    {
        "queue": Column("queue", width=140),
        "status": Column("status", "status", badge_styles=view_model.BADGE_STYLES, width=142),
        "ready": Column("ready", "count", width=66, help="Messages that wait."),
        "growth_per_second": Column(
            "growth",
            "change",
            width=74,
            never=DASH,
            zero="steady",
            help="How fast what waits and what consumers hold grows, of the last five minutes. "
            "Steady: it moves by ten messages at most, or by no more than it swings.",
        ),
        "publish_per_second": Column("published", "rate", width=76, help=view_model.RATES),
        "deliver_per_second": Column(
            "delivered",
            "rate",
            width=76,
            help=f"{view_model.RATES} Of a queue that is polled: by basic.get.",
        ),
        "consumers": Column("consumers", "count", width=80),
        "consumer_capacity": Column(
            "capacity",
            "share",
            width=70,
            help="How much of the time a message would be taken at once; below 100 %, more or "
            "faster consumers help. A dash where there is no consumer.",
        ),
        "unacknowledged": Column(
            "unacked", "count", width=68, help="Messages that a consumer holds."
        ),
        "goes_to": Column("dead letters go to", width=246),
        "oldest_seconds": Column(
            "oldest",
            "duration",
            width=66,
            help="By the timestamp that its publisher gave it, if any.",
        ),
        "kind": Column(
            "kind",
            help="Dead letter: another queue dead-letters into it. Retry: messages wait in it and "
            "go back. Stream: keeps what was read, so it has no backlog.",
        ),
        "ack_per_second": Column("acked", "rate", help=view_model.RATES),
        "redeliver_per_second": Column(
            "again", "rate", help=f"Delivered once more. {view_model.RATES}"
        ),
        "vhost": Column("virtual host"),
        "state": Column("state"),
        "node": Column("node"),
    },
    always=ALWAYS,
)
common = ""
if said := {name: same[name] for name in SAID_ONCE if name in same}:
    (texts,) = tables.texts(common_values.first_known(table, said), said, view)
    common = common_values.in_common([column.label for column in said.values()], texts)
tables.show(
    table,
    columns,
    in_file={
        **same,
        "message_ttl_seconds": Column("expires after", "duration", unknown=DASH),
        "delivery_limit": Column("delivery limit", "count", unknown=DASH),
        "type": Column("type"),
        "policy": Column("policy", unknown=DASH),
        "unknown_reason": Column("why unknown", unknown=DASH),
    },
    sums=escape(common),
    view=view,
    key="queues-table",
    alt="RabbitMQ's queues with depth, rates, consumers and where their dead letters go",
    noun="queues",
)
if why := common_values.why_unknown(table, "queue"):
    st.caption(escape(why))

if deepest := view_model.deepest(rows, NAMED_SERIES):
    with components.section(
        "Waiting by queue",
        unit="messages ready",
        help_text="Messages ready, in the queues with most of them now. Drawn from samples, of a "
        "day at most.",
        log_key="queues-log",
    ) as log:
        history = queue_history.of_queues(here, deepest, interval)
        course = view_model.with_names(history.frame)
        if course["ready"].count():
            components.chart(
                series_chart(
                    course,
                    by="name",
                    value="ready",
                    axis=page_axis(view, history),
                    palette=view.palette,
                    step_seconds=history.step_seconds,
                    limit=NAMED_SERIES,
                    own_colours=False,
                    log=log,
                    height=160,
                ),
                key="queues-waiting",
                alt="Messages ready over time: the queues with most of them now",
                note=note_of(view, history),
            )
        elif not course.is_empty():
            components.nothing("How many messages waited is unknown.", icon=":material/help:")
        else:
            components.nothing(
                "No sample of this time is kept; the running minute is drawn once it is over.",
                icon=":material/history:",
            )
