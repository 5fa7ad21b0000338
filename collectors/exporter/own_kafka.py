"""Headroom's own names: what Kafka clusters have."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from collectors.exporter import rules
from collectors.exporter.rules import LAG_UNKNOWN, columns, of_columns, present, rule, whole_sum
from collectors.exporter.text import Samples
from lake.replication import IS_OFFLINE, IS_UNDER_MIN_ISR, IS_UNDER_REPLICATED, number_of
from lake.schemas.bronze import IN_TOTALS

_GROUP_TOPIC = ("group", "topic")

_OF_GROUP_TOPIC = columns(
    "headroom_group_",
    _GROUP_TOPIC,
    {
        "lag": "Messages that the group has not read of the topic; none where a part is unknown.",
        "time_lag_seconds": "Age of the oldest message of the topic that the group has not read; 0 "
        "without lag.",
        "lost_messages": "Messages that retention deleted before the group read them.",
        "committed_offset": (
            "Sum of the group's committed offsets; its rate is the consumption.",
            "committed",
        ),
        "last_commit_timestamp_seconds": (
            "When the group last committed an offset of the topic, as far as that was seen.",
            "committed_at",
        ),
        "commits_per_second": "Offsets that the group commits.",
        "partitions": "Partitions that the group reads of the topic.",
        "unknown_lag_partitions": "Partitions of them whose lag could not be read.",
        "unknown_time_lag_partitions": "Partitions of them whose time lag is unknown.",
        "uncommitted_partitions": "Partitions of them for which the group never committed an "
        "offset.",
    },
)
_OF_GROUP_PARTITION = columns(
    "headroom_group_partition_",
    (*_GROUP_TOPIC, "partition"),
    {
        "lag": "Log end - committed offset.",
        "time_lag_seconds": "Age of the message at the committed offset; 0 without lag.",
        "committed_offset": (
            "The committed offset: the next message that the group will read.",
            "committed",
        ),
        "lost_messages": "Messages that retention deleted before the group read them.",
    },
)

# Of partitions that have a commit: the others have none to count.
_RATE_UNKNOWN = pl.col("committed").is_not_null() & pl.col("commits_per_second").is_null()


def _group_offsets(view: rules.MetricView) -> Iterable[Samples]:
    rows = view.tables["group_offsets"].filter(IN_TOTALS)
    late = pl.col("time_lag_seconds")
    # A time lag is unknown where the lag is, and where it is the only thing unknown.
    late_unknown = late.is_null() & (LAG_UNKNOWN | pl.col("lag").is_not_null())
    totals = rows.group_by(_GROUP_TOPIC, maintain_order=True).agg(
        whole_sum("lag", LAG_UNKNOWN),
        pl.when(~late_unknown.any()).then(late.max()),
        whole_sum("lost_messages", LAG_UNKNOWN),
        whole_sum("committed", rules.COMMITTED_UNKNOWN),
        pl.col("committed_at").max(),
        whole_sum("commits_per_second", rules.COMMITTED_UNKNOWN | _RATE_UNKNOWN),
        pl.len().alias("partitions"),
        LAG_UNKNOWN.sum().alias("unknown_lag_partitions"),
        late_unknown.sum().alias("unknown_time_lag_partitions"),
        (pl.col("committed").is_null() & ~rules.COMMITTED_UNKNOWN)
        .sum()
        .alias("uncommitted_partitions"),
    )
    yield from of_columns(totals, _OF_GROUP_TOPIC)
    if view.per_partition:
        yield from of_columns(rows, _OF_GROUP_PARTITION)


_OF_GROUP = columns(
    "headroom_group_",
    ("group",),
    {"members": "Members of the group.", "idle_members": "Members that have no partition."},
)
_OF_GROUP_INFO = columns(
    "headroom_group_",
    ("group", "state", "type", "kind", "protocol", "coordinator"),
    {"info": ("Always 1: what the group is, in its labels.", present("group"))},
)


def _groups(view: rules.MetricView) -> Iterable[Samples]:
    return of_columns(view.tables["groups"], (*_OF_GROUP, *_OF_GROUP_INFO))


_OF_TOPIC = columns(
    "headroom_topic_",
    ("topic",),
    {
        "partitions": "Partitions of the topic.",
        "log_end_offset": (
            "Sum of the partitions' log ends; its rate is the arrival of messages.",
            "log_end",
        ),
        "log_start_offset": ("Sum of the partitions' log starts.", "log_start"),
        "size_bytes": "Size of the leaders' replicas.",
        "open_transaction_messages": "Messages from the first open transaction of each partition "
        "on, which committed readers do not get yet.",
        "under_replicated_partitions": "Partitions of the topic with fewer replicas in sync than "
        "replicas.",
        "under_min_isr_partitions": "Partitions of the topic with fewer replicas in sync than "
        "min.insync.replicas.",
        "offline_partitions": "Partitions of the topic without a leader.",
    },
)
_OF_TOPIC_INFO = columns(
    "headroom_topic_",
    ("topic", "kind", "cleanup_policy"),
    {"info": ("Always 1: what the topic is, in its labels.", present("topic"))},
)
_OF_TOPIC_CONFIG = columns(
    "headroom_topic_",
    ("topic",),
    {"retention_seconds": "How long messages are kept; none where for ever, or unknown."},
)
_OF_CLUSTER = columns(
    "headroom_",
    (),
    {
        "topics": "Topics that are watched.",
        "partitions": "Partitions of these topics.",
        "under_replicated_partitions": "Partitions of the cluster with fewer replicas in sync than "
        "replicas.",
        "under_min_isr_partitions": "Partitions of the cluster with fewer replicas in sync than "
        "min.insync.replicas.",
        "offline_partitions": "Partitions of the cluster without a leader.",
        "not_preferred_leader_partitions": "Partitions whose leader is not the first of their "
        "replicas.",
        "reassigning_partitions": "Partitions whose replicas are being moved.",
    },
)
_OF_PARTITION = columns(
    "headroom_partition_",
    ("topic", "partition"),
    {
        "log_end_offset": ("The next offset to be written.", "log_end"),
        "log_start_offset": ("The oldest offset.", "log_start"),
        "leader": "The leader's broker id.",
        "replicas": ("Replicas that there should be.", pl.col("replicas").list.len()),
        "in_sync_replicas": (
            "Replicas that are in sync.",
            pl.col("in_sync_replicas").list.len(),
        ),
        "size_bytes": "Size of the leader's replica.",
    },
)


def _partitions(view: rules.MetricView) -> Iterable[Samples]:
    rows = view.tables["partitions"].with_columns(
        (pl.col("log_end") - pl.col("last_stable")).alias("open_transaction_messages")
    )
    moving = pl.col("adding_replicas").list.len() + pl.col("removing_replicas").list.len() > 0
    counts = (
        pl.len().alias("partitions"),
        IS_UNDER_REPLICATED.sum().alias("under_replicated_partitions"),
        number_of(IS_UNDER_MIN_ISR).alias("under_min_isr_partitions"),
        IS_OFFLINE.sum().alias("offline_partitions"),
    )
    sums = ("log_end", "log_start", "size_bytes", "open_transaction_messages")
    topics = rows.group_by("topic", maintain_order=True).agg(*counts, *map(whole_sum, sums))
    not_preferred = pl.col("leader") != pl.col("preferred_leader")
    cluster = rows.select(
        *counts,
        pl.col("topic").n_unique().alias("topics"),
        not_preferred.sum().alias("not_preferred_leader_partitions"),
        pl.when(~moving.is_null().any()).then(moving.sum()).alias("reassigning_partitions"),
    )
    yield from of_columns(cluster, _OF_CLUSTER)
    yield from of_columns(topics, _OF_TOPIC)
    known: pl.DataFrame | None = view.tables.get("topics")
    if known is not None:
        # Rows of a topic that was deleted stay for a while.
        known = known.join(topics, on="topic", how="semi")
        yield from of_columns(known, (*_OF_TOPIC_INFO, *_OF_TOPIC_CONFIG))
    if view.per_partition:
        yield from of_columns(rows, _OF_PARTITION)


_OF_BROKER_ALIVE = columns(
    "headroom_broker_",
    ("broker", "host", "rack"),
    {
        "alive": (
            "1 while the broker is in the cluster's metadata, 0 while it is missing.",
            "is_alive",
        )
    },
)
_OF_BROKER = columns(
    "headroom_broker_",
    ("broker",),
    {
        "controller": ("1 on the controller.", "is_controller"),
        "leaders": "Partitions that the broker leads.",
        "replicas": "Replicas that the broker should hold.",
        "under_replicated": "Replicas that the broker should hold and that are not in sync.",
        "log_bytes": "Size of the logs on the broker.",
        "disk_total_bytes": "Size of its log volumes.",
        "disk_free_bytes": "Free space on them.",
        "throttled_seconds": "How long it made the collector wait since the poll before, because "
        "a quota is used up.",
        "certificate_expiry_timestamp_seconds": (
            "When the certificate expires that it showed to the collector.",
            pl.col("certificate_expires_at").dt.epoch("us") / 1e6,
        ),
    },
)
_OF_BROKER_INFO = columns(
    "headroom_broker_",
    ("broker", "version", "registration"),
    {"info": ("Always 1: what the broker is, in its labels.", present("broker"))},
)
_OF_BROKERS = columns(
    "headroom_",
    (),
    {
        "brokers": "Brokers that are known, those missing included.",
        "brokers_alive": "Brokers in the cluster's metadata.",
    },
)


def _brokers(view: rules.MetricView) -> Iterable[Samples]:
    rows = view.tables["brokers"].rename({"broker_id": "broker"})
    totals = rows.select(pl.len().alias("brokers"), pl.col("is_alive").sum().alias("brokers_alive"))
    yield from of_columns(totals, _OF_BROKERS)
    yield from of_columns(rows, (*_OF_BROKER_ALIVE, *_OF_BROKER, *_OF_BROKER_INFO))


_OF_LOG_DIRECTORY = columns(
    "headroom_log_directory_",
    ("broker", "path"),
    {
        "offline": ("1 where it failed.", "is_offline"),
        "cordoned": ("1 where it takes no new partitions.", "is_cordoned"),
        "log_bytes": "Size of its logs.",
        "total_bytes": "Size of its volume.",
        "free_bytes": "Free space of its volume.",
    },
)


def _log_directories(view: rules.MetricView) -> Iterable[Samples]:
    rows = view.tables["log_directories"].rename({"broker_id": "broker"})
    # A broker that could not be asked has a row without a path.
    return of_columns(rows.filter(pl.col("path").is_not_null()), _OF_LOG_DIRECTORY)


_OF_QUORUM = columns(
    "headroom_quorum_",
    ("node", "role"),
    {"lag": "Records of the metadata log that the node is behind the leader."},
)


def _quorum(view: rules.MetricView) -> Iterable[Samples]:
    return of_columns(view.tables["quorum"].rename({"node_id": "node"}), _OF_QUORUM)


RULES: tuple[rules.Rule, ...] = (
    rule("group_offsets", _group_offsets, _OF_GROUP_TOPIC, _OF_GROUP_PARTITION),
    rule("groups", _groups, _OF_GROUP, _OF_GROUP_INFO),
    rule(
        ("partitions", "topics"),
        _partitions,
        *(_OF_CLUSTER, _OF_TOPIC, _OF_TOPIC_INFO, _OF_TOPIC_CONFIG, _OF_PARTITION),
    ),
    rule("brokers", _brokers, _OF_BROKERS, _OF_BROKER_ALIVE, _OF_BROKER, _OF_BROKER_INFO),
    rule("log_directories", _log_directories, _OF_LOG_DIRECTORY),
    rule("quorum", _quorum, _OF_QUORUM),
)
