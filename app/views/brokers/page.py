"""Is data safe?"""

from datetime import timedelta

import polars as pl
import streamlit as st

from app.data import history_queries, present, queries, sampled
from app.data.context import current
from app.style.charts.heatmaps import stacked_bars
from app.style.columns import Column
from app.style.format import clock, escape, exact, share
from app.ui import brokers_up, components, partition_risk, routes, tables, topic_list
from app.ui.changes import change_list, event_marks, events, page_events
from app.ui.time_axis import note_of, page_axis
from app.views.brokers import card, leadership, led, metrics, view_model
from lake.schemas.current import BROKER_STATUS, CLUSTER_STATUS, PARTITIONS_AT_RISK, TOPIC_STATUS
from lake.schemas.tables import CLUSTER_SETTINGS

SAME_SETTINGS = "All brokers that could be asked have the same settings."
LISTED = 500
BACK = timedelta(days=1)
"""How far back it is looked up since when a broker is back."""

view = current()
with components.required("The brokers cannot be shown"):
    cluster = present.rows(view, CLUSTER_STATUS)
    brokers = view_model.with_names(present.rows(view, BROKER_STATUS))
    up = brokers_up.here(view)
lacking, back = leadership.lacking(brokers), {}
if not lacking.is_empty():
    with components.guarded():
        back = leadership.returned(queries.changes_between(view, view.now - BACK, view.now))
clauses = leadership.clauses(lacking, back, view.zone, view.now)
said = view_model.sentence(cluster, brokers, up, leadership=clauses)
components.headline(*map(escape, said))
components.say_what_is_of_now(view)

led_by: dict[int, float | None] = {}
with components.guarded():
    led_by = led.per_second(view)
with components.guarded():
    if brokers.is_empty():
        components.nothing("No poll has read the brokers yet; Monitoring health shows why.")
    else:
        shown = brokers.head(24)
        with st.grid(card.cards_abreast(shown.height), min_column_width=220, gap="small"):
            for row in shown.iter_rows(named=True):
                with st.container(border=True, height="stretch", gap="xsmall"):
                    with st.container(horizontal=True, horizontal_alignment="distribute"):
                        st.markdown(f"**{row['name']}**", width="content")
                        with st.container(horizontal=True, width="content", gap="xsmall"):
                            if row["is_controller"]:
                                components.badge(view_model.CONTROLLER)
                            components.badge(view_model.badge_style(row))
                    st.html(card.html(card.rows(row, led_by, view.now)))
                    if (full := card.disk_full(row)) is not None:
                        st.progress(full, text=f":small[disk {share(full)} full]")
                    if row["is_alive"] is False:
                        if row["missing_since"] is not None:
                            since = clock(row["missing_since"], view.zone, now=view.now)
                            st.caption(f"missing since {since}")
                    elif row["unknown_reason"]:
                        st.caption(f":violet[{escape(row['unknown_reason'])}]")
        if brokers.height > 24:
            st.caption(f"24 of {brokers.height} brokers; the chart below has all of them")

at_risk = PARTITIONS_AT_RISK.empty
with components.guarded():
    at_risk = view_model.with_labels(present.rows(view, PARTITIONS_AT_RISK))
partitions = cluster["partitions"].to_list()
all_in_sync = (
    at_risk.is_empty()
    and partitions not in ([], [None])
    and view.viewer.sees_all_of(view.cluster)
    and view.until >= view.now
)
none_was_at_risk = False
settings = CLUSTER_SETTINGS.empty
with components.guarded():
    settings = queries.cluster_settings(view)
same_settings = view_model.have_same_settings(settings)
controls = components.heading("Partitions at risk", help_text=partition_risk.HELP)
with components.guarded():
    history = sampled.at_risk(view) or history_queries.cluster_history(view)
    present_too = cluster if view.until >= view.now else None
    if partition_risk.nothing_at_risk(history.frame, present_too):
        none_was_at_risk = True
        all_now = f": all {exact(partitions[0])} are in sync" if all_in_sync else ""
        same = f" {SAME_SETTINGS}" if same_settings else ""
        components.nothing(
            f"No partition was at risk {view.period}{all_now}.{same}", icon=":material/check:"
        )
    else:
        with controls:
            marks = event_marks.choose(page_events.of_cluster(view))
        axis = page_axis(view, history, marks)
        components.chart(
            partition_risk.chart(history, axis=axis, palette=view.palette),
            key="brokers-risk",
            alt="Partitions that are under-replicated, under min ISR and offline, over time",
            note=note_of(view, history),
        )

left, right = st.columns([3, 2], gap="medium")
if brokers["replicas"].count():
    with left, components.section("Leaders and replicas by broker", is_folded=view.is_phone):
        components.chart(
            stacked_bars(
                brokers,
                label="name",
                parts={"leaders": "leaders", "followers": "followers"},
                colours=[view.palette.first, view.palette.others],
                palette=view.palette,
            ),
            key="brokers-leaders",
            alt="Partitions that each broker leads and follows",
            note=view_model.preferred_share(cluster),
        )
    with (
        right,
        components.section(
            "If one more broker fails",
            help_text="Counted from the in-sync replicas as they are now.",
            is_folded=view.is_phone,
        ),
    ):
        tables.show(
            brokers.filter("is_alive"),
            {
                "name": Column("fails"),
                "offline_if_lost": Column("offline", "count", help="It holds the last replica."),
                "refused_if_lost": Column(
                    "below min ISR", "count", help="Producers with acks=all are refused."
                ),
                "quorum": Column(
                    "controllers",
                    help="Whether a majority of them still runs: without it no leader is elected, "
                    "and no topic changed.",
                ),
            },
            view=view,
            key="brokers-whatif",
            alt="Partitions that would go offline or below min ISR if a broker failed",
            noun="brokers",
        )


def with_brokers(partitions: pl.DataFrame) -> pl.DataFrame:
    """Write the lists of brokers as text."""
    lists = ("replicas", "in_sync_replicas", "lacking", "can_lead")
    return partitions.with_columns(map(topic_list.as_text, lists))


BADGE_STYLES = list(topic_list.REPLICATION.values())


def show_topics(partitions: pl.DataFrame, topics: pl.DataFrame) -> None:
    """List topics with partitions at risk, the worst first."""
    rows = view_model.by_topic(partitions, topics)
    said = view_model.alike(rows)
    with st.expander(escape(said)) if said else st.container():
        tables.show(
            rows,
            {
                "topic": Column("topic", width=230, opens=(routes.TOPIC, "topic")),
                "label": Column("state", "status", badge_styles=BADGE_STYLES, width=135),
                "partitions_of": Column(
                    "partitions", width=90, help="Of those that the topic has."
                ),
                "lacking": Column(
                    "not in sync on", width=130, help="Brokers that lack among in-sync replicas."
                ),
                "one_more": Column(
                    "one more loss",
                    width=390,
                    help="Partitions left without a leader, and those that refuse producers with "
                    "acks=all: of each as many as the failure of one more broker can cause.",
                ),
            },
            view=view,
            key="brokers-topics",
            alt="Topics with partitions that are not in sync, the worst first",
            noun="rows, one for each topic and state",
            rows_shown=20,
            in_file={"partitions": Column("at risk", "count"), "of": Column("of", "count")},
        )


def show_partitions(partitions: pl.DataFrame) -> None:
    """List partitions, the worst first."""
    tables.show(
        with_brokers(partitions.head(LISTED)),
        {
            "topic": Column("topic", width=190, opens=(routes.TOPIC, "topic")),
            "partition": Column("partition", "count", width=74),
            "label": Column("state", "status", badge_styles=BADGE_STYLES, width=135),
            "lacking": Column("not in sync", width=86),
            "can_lead": Column(
                "can lead",
                unknown="",
                width=76,
                help="Of a partition without a leader: brokers that hold all that was "
                "committed. Start one of these first, or mount its failed log directory again.",
            ),
            "follower_lag": Column(
                "behind",
                "count",
                width=78,
                help="Records that the slowest of these replicas lacks.",
            ),
            "leader": Column("leader", "count", unknown="none", width=66),
            "min_in_sync_replicas": Column("min ISR", "count", width=72),
            "in_sync_replicas": Column("in sync", width=80),
            "replicas": Column("replicas", width=80),
            "preferred_leader": Column("preferred", "count", width=80),
            **(
                {"unknown_reason": Column("what is not known", unknown="", width="large")}
                if partitions["unknown_reason"].count()
                else {}
            ),
        },
        view=view,
        key="brokers-partitions",
        alt="Partitions that are not in sync, the worst first",
        total=partitions.height,
        noun="partitions at risk; the others are in sync",
        every=lambda: with_brokers(partitions),
    )


# Where all is and was well, one line above has said so.
if not (all_in_sync and none_was_at_risk):
    with components.section("Topics at risk, the worst first"):
        if not at_risk.is_empty():
            topics = TOPIC_STATUS.empty
            with components.guarded():
                topics = present.rows(view, TOPIC_STATUS)
            show_topics(at_risk, topics)
            with st.expander("Each partition"):
                show_partitions(at_risk)
        elif not view.viewer.sees_all_of(view.cluster):
            components.nothing("No partition that you see is known to be at risk.")
        elif partitions in ([], [None]):
            components.nothing("No poll has read the partitions yet; Monitoring health shows why.")
        else:
            components.nothing(
                f"All {exact(partitions[0])} partitions are in sync.", icon=":material/check:"
            )

with components.guarded():
    told = queries.broker_metrics(view)
    of_brokers, of_clients = metrics.of_brokers(told), metrics.of_clients(told)
    if not of_brokers.is_empty():
        with components.section(
            "How busy they are",
            help_text="What Prometheus tells of the brokers: rates of the last five minutes.",
            is_folded=view.is_phone,
        ):
            tables.show(
                of_brokers,
                {
                    "broker": Column("broker", unknown="the cluster", width=160),
                    "request_handler_idle_ratio": Column(
                        "handlers idle", "share", width=98, help="Below 30 % the broker is busy."
                    ),
                    "network_idle_ratio": Column(
                        "network idle", "share", width=98, help="Below 30 % the broker is busy."
                    ),
                    "request_queue_length": Column("requests waiting", "count", width=124),
                    "produce_seconds": Column(
                        "Produce p99", "duration", width=94, help="99 of 100 requests take less."
                    ),
                    "fetch_seconds": Column(
                        "Fetch p99",
                        "duration",
                        width=84,
                        help="Of consumers; it waits for messages.",
                    ),
                    "bytes_in_per_second": Column("bytes in/s", "size", width=86),
                    "bytes_out_per_second": Column("bytes out/s", "size", width=92),
                    "messages_in_per_second": Column("messages", "rate", width=82),
                },
                view=view,
                key="brokers-metrics",
                alt="How busy each broker is, the busiest first",
                noun="brokers",
                rows_shown=12,
            )
    if not of_clients.is_empty():
        with components.section(
            "Client software",
            help_text="What clients say of themselves when they connect: name and version of "
            "their library.",
            is_folded=view.is_phone,
        ):
            tables.show(
                of_clients,
                {
                    "software": Column("software", width=240),
                    "version": Column("version", width=140),
                    "connections": Column("connections", "count"),
                    "brokers": Column("on brokers", "count"),
                },
                view=view,
                key="brokers-clients",
                alt="Client libraries with their versions, the most connections first",
                noun="versions",
                rows_shown=8,
            )

with components.section(
    "Versions and settings",
    help_text="What administrators have set, read every five minutes.",
    is_folded=view.is_phone,
):
    if settings.is_empty():
        components.nothing("Nothing was read yet, or it is switched off.")
    else:
        left, right = st.columns(2, gap="medium")
        with left:
            tables.show(
                view_model.features(settings),
                {
                    "feature": Column("feature", width=240),
                    "level": Column("level", "count", help="What the cluster uses."),
                    "supported": Column(
                        "supported", "count", help="What all brokers support: the release is newer."
                    ),
                },
                view=view,
                key="brokers-features",
                alt="Features of the cluster with their levels",
                noun="features",
                rows_shown=8,
            )
        with right:
            drift = view_model.drift(settings)
            reason = view_model.unknown(settings, "broker configuration")
            if reason:
                st.caption(f":violet[Settings of brokers: {escape(reason)}]")
            elif drift.is_empty():
                if not none_was_at_risk:  # where nothing was, the line above has said so
                    st.caption(SAME_SETTINGS)
            else:
                tables.show(
                    drift,
                    {
                        "setting": Column("differs between brokers", width=240),
                        "values": Column("value, and on which", width="large"),
                    },
                    view=view,
                    key="brokers-drift",
                    alt="Settings that differ between brokers",
                    noun="settings",
                    rows_shown=8,
                )
        if none := view_model.without_entries(settings):
            st.caption(none)
        for kind, title in view_model.KINDS.items():
            found, reason = view_model.listed(settings, kind), view_model.unknown(settings, kind)
            if kind not in settings["kind"]:  # these brokers do not offer it, or it is switched off
                st.caption(f"{title}: not read")
                continue
            if found.is_empty() and not reason:
                continue
            with st.expander(f"{title}: {'unknown' if reason else exact(found.height)}"):
                if reason:
                    st.caption(f":violet[{escape(reason)}]")
                if not found.is_empty():
                    tables.show(
                        found,
                        {
                            "subject": Column("of", width=240),
                            "settings": Column("set", width="large"),
                        },
                        view=view,
                        key=f"brokers-{kind.replace(' ', '-')}",
                        alt=f"{title}, one by one",
                        noun="entries",
                    )

with components.section("What changed", is_folded=view.is_phone):
    change_list.draw(
        view,
        events.of_changes(queries.cluster_events(view)),
        key="brokers-changes",
        nothing=f"Nothing was seen to change {view.period}.",
    )
