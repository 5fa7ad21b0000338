"""Is data safe?"""

import polars as pl
import streamlit as st

from alerting import facts
from app import brokerpage, components, pages, queries, tables, topictable
from app.axis import page_axis
from app.charts.fields import stacked_bars
from app.charts.lines import Line, columns_chart
from app.format import clock, escape, exact, size
from app.overview import broker_events
from app.tables import Column
from app.view import current
from lake.errors import LakeError
from lake.tables import BROKERS, PARTITIONS

LISTED = 500

view = current()
brokers = partitions = None
errors: list[LakeError] = []
try:
    brokers = queries.newest(view, BROKERS)
except LakeError as error:
    errors.append(error)
try:
    partitions = queries.newest(view, PARTITIONS)
except LakeError as error:
    errors.append(error)

nothing = queries.no_rows
fact = facts.cluster_fact(
    view.cluster,
    brokers if brokers is not None else nothing(BROKERS),
    partitions if partitions is not None else nothing(PARTITIONS),
)
components.headline(*map(escape, brokerpage.sentence(fact)))
for unreadable in errors:
    components.show_broken(unreadable)

with components.guarded():
    if brokers is not None and brokers.is_empty():
        components.nothing("No poll has read the brokers yet; Collection health shows why.")
    elif brokers is not None:
        held = brokerpage.by_broker(
            brokers, partitions if partitions is not None else nothing(PARTITIONS)
        )
        recent = queries.recent(view, BROKERS)
        with st.grid(4, min_column_width=220, gap="small"):
            for row in held.head(24).iter_rows(named=True):
                with st.container(border=True, height="stretch", gap="xsmall"):
                    with st.container(horizontal=True, horizontal_alignment="distribute"):
                        st.markdown(f"**{row['name']}**", width="content")
                        components.badge(brokerpage.look(row["is_alive"]))
                    lines = []
                    if row["is_controller"]:
                        lines.append("controller")
                    lines.append(f"{exact(row['leading'])} leaders, {exact(row['held'])} replicas")
                    disk = size(row["log_bytes"])
                    if row["disk_free_bytes"] is not None:
                        disk += f", {size(row['disk_free_bytes'])} free"
                    lines.append(f"logs {disk}")
                    where = escape(f"{row['host'] or 'host unknown'}:{row['port'] or '?'}")
                    lines.append(f"{where}, rack {escape(row['rack'] or 'not set')}")
                    st.caption("  \n".join(lines))
                    if row["is_alive"] is False:
                        since = facts.since_when(
                            recent.filter(pl.col("broker_id") == row["broker_id"]),
                            facts.is_missing,
                        )
                        if since is not None:
                            st.markdown(f"since **{clock(since, view.zone, now=view.now)}**")
                    elif row["unknown_reason"]:
                        st.caption(f":violet[{escape(row['unknown_reason'])}]")
        if held.height > 24:
            st.caption(f"24 of {held.height} brokers; the chart below has all of them")

with components.section(
    "Partitions at risk",
    help_text="Under-replicated: fewer in-sync replicas (ISR) than replicas. Under min ISR: "
    "producers with acks=all are refused. Offline: no leader, neither read nor written.",
):
    history = queries.cluster_history(view)
    axis = page_axis(
        view,
        history.first,
        broker_events(history.frame),
        step_seconds=history.step_seconds,
    )
    components.chart(
        columns_chart(
            history.frame,
            [
                Line("under_replicated", "under-replicated", view.palette.watch, steps=True),
                Line("under_min_isr", "under min ISR", view.palette.act, steps=True),
                Line("offline", "offline", view.palette.text, steps=True, dash="dot"),
            ],
            axis=axis,
            palette=view.palette,
            step_seconds=history.step_seconds,
            y_title="partitions",
            height=230,
        ),
        key="brokers-risk",
        alt="Partitions that are under-replicated, under min ISR and offline, over time",
        note=history.note,
    )

if partitions is not None and partitions.is_empty():
    components.nothing("No poll has read the partitions yet; Collection health shows why.")
elif partitions is not None:
    left, right = st.columns([3, 2], gap="medium")
    with left, components.section("Leaders and replicas by broker"):
        if brokers is not None and not brokers.is_empty():
            components.chart(
                stacked_bars(
                    brokerpage.by_broker(brokers, partitions),
                    label="name",
                    parts={"leading": "leaders", "following": "followers"},
                    colours=[view.palette.series[0], view.palette.others],
                    palette=view.palette,
                    y_title="partitions",
                    height=230,
                ),
                key="brokers-leaders",
                alt="Partitions that each broker leads and follows",
                note=brokerpage.preferred_share(partitions),
            )
    with (
        right,
        components.section(
            "If one more broker fails",
            help_text="Counted from the in-sync replicas as they are now.",
        ),
    ):
        if brokers is not None:
            tables.show(
                brokerpage.if_one_more_fails(brokers, partitions),
                {
                    "broker": Column("fails"),
                    "offline": Column("offline", "count", help="It holds the last replica."),
                    "refused": Column(
                        "below min ISR", "count", help="Producers with acks=all are refused."
                    ),
                },
                view=view,
                key="brokers-whatif",
                alt="Partitions that would go offline or below min ISR if a broker failed",
                noun="brokers",
            )
    with components.section("Partitions, the worst first"):
        rows = brokerpage.with_places(partitions)
        bad = rows.filter(pl.col("state") != "in sync")
        if bad.is_empty():
            components.nothing(
                f"All {exact(rows.height)} partitions are in sync.", icon=":material/check:"
            )
        else:
            tables.show(
                bad.head(LISTED).with_columns(
                    brokerpage.as_text("replicas"),
                    brokerpage.as_text("in_sync_replicas"),
                    brokerpage.as_text("lacking"),
                ),
                {
                    "topic": Column("topic", width=190, opens=(pages.TOPIC, "topic")),
                    "partition": Column("partition", "count"),
                    "label": Column(
                        "state",
                        "status",
                        looks=list(topictable.REPLICATION.values()),
                        width=135,
                    ),
                    "leader": Column("leader", "count", unknown="none"),
                    "preferred_leader": Column("preferred", "count"),
                    "replicas": Column("replicas"),
                    "in_sync_replicas": Column("in sync"),
                    "lacking": Column("not in sync"),
                    "min_in_sync_replicas": Column("min ISR", "count"),
                    "unknown_reason": Column("what is not known", unknown="", width="large"),
                },
                view=view,
                key="brokers-partitions",
                alt="Partitions that are not in sync, the worst first",
                total=rows.height,
                noun="partitions; the others are in sync",
            )
