"""Headroom's own names: what Kafka clusters have."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from collectors.exporter.rules import (
    COMMITTED_UNKNOWN,
    LAG_UNKNOWN,
    MetricView,
    Rule,
    of_columns,
    own,
    present,
    rule,
    whole_sum,
)
from collectors.exporter.text import Samples
from lake.replication import IS_OFFLINE, IS_UNDER_MIN_ISR, IS_UNDER_REPLICATED, number_of
from lake.schemas.bronze import IN_TOTALS

_GROUP = ("group",)
_GROUP_TOPIC = ("group", "topic")
_GROUP_PARTITION = ("group", "topic", "partition")
_TOPIC = ("topic",)
_PARTITION = ("topic", "partition")
_BROKER = ("broker",)


_OF_GROUP_TOPIC = (
    own(
        "group_lag",
        "Messages that the group has not read of the topic; none where a part is unknown.",
        _GROUP_TOPIC,
    ),
    own(
        "group_time_lag_seconds",
        "Age of the oldest message of the topic that the group has not read; 0 without lag.",
        _GROUP_TOPIC,
    ),
    own(
        "group_lost_messages",
        "Messages that retention deleted before the group read them.",
        _GROUP_TOPIC,
    ),
    own(
        "group_committed_offset",
        "Sum of the group's committed offsets; its rate is the consumption.",
        _GROUP_TOPIC,
    ),
    own(
        "group_last_commit_timestamp_seconds",
        "When the group last committed an offset of the topic, as far as that was seen.",
        _GROUP_TOPIC,
    ),
    own("group_commits_per_second", "Offsets that the group commits.", _GROUP_TOPIC),
    own("group_partitions", "Partitions that the group reads of the topic.", _GROUP_TOPIC),
    own(
        "group_unknown_lag_partitions",
        "Partitions of them whose lag could not be read.",
        _GROUP_TOPIC,
    ),
    own(
        "group_unknown_time_lag_partitions",
        "Partitions of them whose time lag is unknown.",
        _GROUP_TOPIC,
    ),
    own(
        "group_uncommitted_partitions",
        "Partitions of them for which the group never committed an offset.",
        _GROUP_TOPIC,
    ),
)
_OF_GROUP_PARTITION = (
    own("group_partition_lag", "Log end - committed offset.", _GROUP_PARTITION, "lag"),
    own(
        "group_partition_time_lag_seconds",
        "Age of the message at the committed offset; 0 without lag.",
        _GROUP_PARTITION,
        "time_lag_seconds",
    ),
    own(
        "group_partition_committed_offset",
        "The committed offset: the next message that the group will read.",
        _GROUP_PARTITION,
        "committed",
    ),
    own(
        "group_partition_lost_messages",
        "Messages that retention deleted before the group read them.",
        _GROUP_PARTITION,
        "lost_messages",
    ),
)


# Of partitions that have a commit: the others have none to count.
_RATE_UNKNOWN = pl.col("committed").is_not_null() & pl.col("commits_per_second").is_null()


def _group_offsets(view: MetricView) -> Iterable[Samples]:
    rows = view.tables["group_offsets"].filter(IN_TOTALS)
    late = pl.col("time_lag_seconds")
    # A time lag is unknown where the lag is, and where it is the only thing unknown.
    late_unknown = late.is_null() & (LAG_UNKNOWN | pl.col("lag").is_not_null())
    totals = rows.group_by(_GROUP_TOPIC, maintain_order=True).agg(
        whole_sum("lag", LAG_UNKNOWN).alias("group_lag"),
        pl.when(~late_unknown.any()).then(late.max()).alias("group_time_lag_seconds"),
        whole_sum("lost_messages", LAG_UNKNOWN).alias("group_lost_messages"),
        whole_sum("committed", COMMITTED_UNKNOWN).alias("group_committed_offset"),
        pl.col("committed_at").max().alias("group_last_commit_timestamp_seconds"),
        whole_sum("commits_per_second", COMMITTED_UNKNOWN | _RATE_UNKNOWN).alias(
            "group_commits_per_second"
        ),
        pl.len().alias("group_partitions"),
        LAG_UNKNOWN.sum().alias("group_unknown_lag_partitions"),
        late_unknown.sum().alias("group_unknown_time_lag_partitions"),
        (pl.col("committed").is_null() & ~COMMITTED_UNKNOWN)
        .sum()
        .alias("group_uncommitted_partitions"),
    )
    yield from of_columns(totals, _OF_GROUP_TOPIC)
    if view.per_partition:
        yield from of_columns(rows, _OF_GROUP_PARTITION)


_OF_GROUP = (
    own("group_members", "Members of the group.", _GROUP, "members"),
    own("group_idle_members", "Members that have no partition.", _GROUP, "idle_members"),
    own(
        "group_info",
        "Always 1: what the group is, in its labels.",
        ("group", "state", "type", "kind", "protocol", "coordinator"),
        present("group"),
    ),
)


def _groups(view: MetricView) -> Iterable[Samples]:
    return of_columns(view.tables["groups"], _OF_GROUP)


_OF_TOPIC = (
    own("topic_partitions", "Partitions of the topic.", _TOPIC),
    own(
        "topic_log_end_offset",
        "Sum of the partitions' log ends; its rate is the arrival of messages.",
        _TOPIC,
    ),
    own("topic_log_start_offset", "Sum of the partitions' log starts.", _TOPIC),
    own("topic_size_bytes", "Size of the leaders' replicas.", _TOPIC),
    own(
        "topic_open_transaction_messages",
        "Messages from the first open transaction of each partition on, which committed readers do "
        "not get yet.",
        _TOPIC,
    ),
    own(
        "topic_under_replicated_partitions",
        "Partitions of the topic with fewer replicas in sync than replicas.",
        _TOPIC,
    ),
    own(
        "topic_under_min_isr_partitions",
        "Partitions of the topic with fewer replicas in sync than min.insync.replicas.",
        _TOPIC,
    ),
    own("topic_offline_partitions", "Partitions of the topic without a leader.", _TOPIC),
)
_OF_TOPIC_CONFIG = (
    own(
        "topic_info",
        "Always 1: what the topic is, in its labels.",
        ("topic", "kind", "cleanup_policy"),
        present("topic"),
    ),
    own(
        "topic_retention_seconds",
        "How long messages are kept; none where for ever, or unknown.",
        _TOPIC,
        "retention_seconds",
    ),
)
_OF_CLUSTER = (
    own("topics", "Topics that are watched.", ()),
    own("partitions", "Partitions of these topics.", ()),
    own(
        "under_replicated_partitions",
        "Partitions of the cluster with fewer replicas in sync than replicas.",
        (),
    ),
    own(
        "under_min_isr_partitions",
        "Partitions of the cluster with fewer replicas in sync than min.insync.replicas.",
        (),
    ),
    own("offline_partitions", "Partitions of the cluster without a leader.", ()),
    own(
        "not_preferred_leader_partitions",
        "Partitions whose leader is not the first of their replicas.",
        (),
    ),
    own("reassigning_partitions", "Partitions whose replicas are being moved.", ()),
)
_OF_PARTITION = (
    own("partition_log_end_offset", "The next offset to be written.", _PARTITION, "log_end"),
    own("partition_log_start_offset", "The oldest offset.", _PARTITION, "log_start"),
    own("partition_leader", "The leader's broker id.", _PARTITION, "leader"),
    own(
        "partition_replicas",
        "Replicas that there should be.",
        _PARTITION,
        pl.col("replicas").list.len(),
    ),
    own(
        "partition_in_sync_replicas",
        "Replicas that are in sync.",
        _PARTITION,
        pl.col("in_sync_replicas").list.len(),
    ),
    own("partition_size_bytes", "Size of the leader's replica.", _PARTITION, "size_bytes"),
)


def _partitions(view: MetricView) -> Iterable[Samples]:
    rows = view.tables["partitions"].with_columns(
        (pl.col("log_end") - pl.col("last_stable")).alias("open")
    )
    moving = pl.col("adding_replicas").list.len() + pl.col("removing_replicas").list.len() > 0
    topics = rows.group_by("topic", maintain_order=True).agg(
        pl.len().alias("topic_partitions"),
        whole_sum("log_end").alias("topic_log_end_offset"),
        whole_sum("log_start").alias("topic_log_start_offset"),
        whole_sum("size_bytes").alias("topic_size_bytes"),
        whole_sum("open").alias("topic_open_transaction_messages"),
        IS_UNDER_REPLICATED.sum().alias("topic_under_replicated_partitions"),
        number_of(IS_UNDER_MIN_ISR).alias("topic_under_min_isr_partitions"),
        IS_OFFLINE.sum().alias("topic_offline_partitions"),
    )
    cluster = rows.select(
        pl.col("topic").n_unique().alias("topics"),
        pl.len().alias("partitions"),
        IS_UNDER_REPLICATED.sum().alias("under_replicated_partitions"),
        number_of(IS_UNDER_MIN_ISR).alias("under_min_isr_partitions"),
        IS_OFFLINE.sum().alias("offline_partitions"),
        (pl.col("leader") != pl.col("preferred_leader"))
        .sum()
        .alias("not_preferred_leader_partitions"),
        pl.when(~moving.is_null().any()).then(moving.sum()).alias("reassigning_partitions"),
    )
    yield from of_columns(cluster, _OF_CLUSTER)
    yield from of_columns(topics, _OF_TOPIC)
    known: pl.DataFrame | None = view.tables.get("topics")
    if known is not None:
        # Rows of a topic that was deleted stay for a while.
        yield from of_columns(known.join(topics, on="topic", how="semi"), _OF_TOPIC_CONFIG)
    if view.per_partition:
        yield from of_columns(rows, _OF_PARTITION)


_OF_BROKER = (
    own(
        "broker_alive",
        "1 while the broker is in the cluster's metadata, 0 while it is missing.",
        ("broker", "host", "rack"),
        "is_alive",
    ),
    own("broker_controller", "1 on the controller.", _BROKER, "is_controller"),
    own("broker_leaders", "Partitions that the broker leads.", _BROKER, "leaders"),
    own("broker_replicas", "Replicas that the broker should hold.", _BROKER, "replicas"),
    own(
        "broker_under_replicated",
        "Replicas that the broker should hold and that are not in sync.",
        _BROKER,
        "under_replicated",
    ),
    own("broker_log_bytes", "Size of the logs on the broker.", _BROKER, "log_bytes"),
    own("broker_disk_total_bytes", "Size of its log volumes.", _BROKER, "disk_total_bytes"),
    own("broker_disk_free_bytes", "Free space on them.", _BROKER, "disk_free_bytes"),
)
_OF_BROKERS = (
    own("brokers", "Brokers that are known, those missing included.", ()),
    own("brokers_alive", "Brokers in the cluster's metadata.", ()),
)


def _brokers(view: MetricView) -> Iterable[Samples]:
    rows = view.tables["brokers"].rename({"broker_id": "broker"})
    totals = rows.select(
        pl.len().alias("brokers"),
        pl.col("is_alive").sum().alias("brokers_alive"),
    )
    yield from of_columns(totals, _OF_BROKERS)
    yield from of_columns(rows, _OF_BROKER)


_OF_LOG_DIRECTORY = (
    own("log_directory_offline", "1 where it failed.", ("broker", "path"), "is_offline"),
    own(
        "log_directory_cordoned",
        "1 where it takes no new partitions.",
        ("broker", "path"),
        "is_cordoned",
    ),
    own("log_directory_log_bytes", "Size of its logs.", ("broker", "path"), "log_bytes"),
    own("log_directory_total_bytes", "Size of its volume.", ("broker", "path"), "total_bytes"),
    own("log_directory_free_bytes", "Free space of its volume.", ("broker", "path"), "free_bytes"),
)


def _log_directories(view: MetricView) -> Iterable[Samples]:
    rows = view.tables["log_directories"].rename({"broker_id": "broker"})
    # A broker that could not be asked has a row without a path.
    return of_columns(rows.filter(pl.col("path").is_not_null()), _OF_LOG_DIRECTORY)


_OF_QUORUM = (
    own(
        "quorum_lag",
        "Records of the metadata log that the node is behind the leader.",
        ("node", "role"),
        "lag",
    ),
)


def _quorum(view: MetricView) -> Iterable[Samples]:
    return of_columns(view.tables["quorum"].rename({"node_id": "node"}), _OF_QUORUM)


RULES: tuple[Rule, ...] = (
    rule("group_offsets", _group_offsets, _OF_GROUP_TOPIC, _OF_GROUP_PARTITION),
    rule("groups", _groups, _OF_GROUP),
    rule(
        ("partitions", "topics"),
        _partitions,
        _OF_CLUSTER,
        _OF_TOPIC,
        _OF_TOPIC_CONFIG,
        _OF_PARTITION,
    ),
    rule("brokers", _brokers, _OF_BROKERS, _OF_BROKER),
    rule("log_directories", _log_directories, _OF_LOG_DIRECTORY),
    rule("quorum", _quorum, _OF_QUORUM),
)
