"""The names, labels and values of KMinion 2, for dashboards that were made for it.

Source: its ``docs/metrics.md`` and ``prometheus/exporter.go``. Not given, because the poll does not
read it: ``…_offset_commits_total``, ``…_topic_log_dir_size_total_bytes``, the counters of its
reader of ``__consumer_offsets`` and the end-to-end probe, for which records would have to be
written.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from collectors.exporter import rules
from collectors.exporter.rules import columns, of_columns, rule, whole_sum
from collectors.exporter.text import Samples

_TOPIC = ("topic_name",)
_GROUP = ("group_id",)
_GROUP_TOPIC = ("group_id", "topic_name")
_BROKER = ("broker_id", "address", "port", "rack_id")

_OF_CLUSTER = columns(
    "kminion_kafka_cluster_",
    ("cluster_version", "broker_count", "controller_id", "cluster_id"),
    {"info": ("The cluster, in labels; its version is not known.", pl.lit(1))},
)
_OF_BROKER = columns(
    "kminion_kafka_broker_",
    (*_BROKER, "is_controller"),
    {"info": ("A broker, in labels.", pl.lit(1))},
)
_OF_DISK = columns(
    "kminion_kafka_broker_",
    _BROKER,
    {"log_dir_size_total_bytes": ("Size of the logs on the broker.", "log_bytes")},
)


def _brokers(view: rules.MetricView) -> Iterable[Samples]:
    rows = view.tables["brokers"].filter("is_alive")
    controller = rows.filter("is_controller")["broker_id"]
    cluster = pl.DataFrame(
        {
            "cluster_version": [""],
            "broker_count": [rows.height],
            # What the cluster's metadata says where there is none.
            "controller_id": [controller[0] if controller.len() else -1],
            "cluster_id": [view.cluster_id or ""],
        }
    )
    yield from of_columns(cluster, _OF_CLUSTER)
    named = rows.select(
        "broker_id",
        "port",
        "log_bytes",
        pl.col("host").alias("address"),
        pl.col("rack").alias("rack_id"),
        pl.col("is_controller").fill_null(False).cast(pl.String),
    )
    yield from of_columns(named, _OF_BROKER)
    yield from of_columns(named, _OF_DISK)


_OF_TOPIC_INFO = columns(
    "kminion_kafka_topic_",
    ("topic_name", "partition_count", "replication_factor", "cleanup_policy"),
    {"info": ("A topic, in labels.", pl.lit(1))},
)
_OF_TOPIC = columns(
    "kminion_kafka_topic_",
    _TOPIC,
    {
        "high_water_mark_sum": ("Sum of the partitions' log ends.", "log_end"),
        "low_water_mark_sum": ("Sum of the partitions' log starts.", "log_start"),
    },
)
_OF_PARTITION = columns(
    "kminion_kafka_topic_partition_",
    (*_TOPIC, "partition_id"),
    {
        "high_water_mark": ("Its log end.", "log_end"),
        "low_water_mark": ("Its log start.", "log_start"),
    },
)


def _partitions(view: rules.MetricView) -> Iterable[Samples]:
    rows = view.tables["partitions"].rename({"topic": "topic_name", "partition": "partition_id"})
    topics = rows.group_by("topic_name", maintain_order=True).agg(
        pl.len().alias("partition_count"),
        pl.col("replicas").list.len().first().alias("replication_factor"),
        whole_sum("log_end"),
        whole_sum("log_start"),
    )
    yield from of_columns(topics, _OF_TOPIC)
    policy: pl.DataFrame | None = view.tables.get("topics")
    if policy is None:
        infos = topics.with_columns(cleanup_policy=pl.lit(None, pl.String))
    else:
        policies = policy.select(pl.col("topic").alias("topic_name"), "cleanup_policy")
        infos = topics.join(policies, on="topic_name", how="left", maintain_order="left")
    # Where the configuration is unknown, KMinion writes this.
    infos = infos.with_columns(pl.col("cleanup_policy").fill_null("N/A"))
    yield from of_columns(infos, _OF_TOPIC_INFO)
    if view.per_partition:
        yield from of_columns(rows, _OF_PARTITION)


_OF_GROUP_INFO = columns(
    "kminion_kafka_consumer_group_",
    ("group_id", "protocol", "protocol_type", "state", "coordinator_id"),
    {"info": ("1 where the group is stable, otherwise 0.", pl.col("state") == "Stable")},
)
_OF_GROUP = columns("kminion_kafka_consumer_group_", _GROUP, {"members": "Members of the group."})
_OF_EMPTY = columns(
    "kminion_kafka_consumer_group_",
    _GROUP,
    {"empty_members": "Members without a partition, of groups that have such."},
)


def _groups(view: rules.MetricView) -> Iterable[Samples]:
    # A group whose coordinator cannot be asked is left out.
    rows = view.tables["groups"].filter(pl.col("state") != "unknown")
    kind = pl.col("kind").fill_null("")
    named = rows.select(
        pl.col("group").alias("group_id"),
        "protocol",
        # What the members of such groups say they are; a group that was never joined has none.
        pl.when(kind == "connect")
        .then(pl.lit("connect"))
        .when(pl.col("protocol").fill_null("") != "")
        .then(pl.lit("consumer"))
        .otherwise(pl.lit(""))
        .alias("protocol_type"),
        _as_kafka_writes("state"),
        pl.col("coordinator").alias("coordinator_id"),
        "members",
    )
    yield from of_columns(named, (*_OF_GROUP_INFO, *_OF_GROUP))
    members: pl.DataFrame | None = view.tables.get("group_members")
    if members is not None:
        idle = members.filter(pl.col("assigned_partitions") == 0)
        empty = idle.group_by(pl.col("group").alias("group_id"), maintain_order=True).agg(
            pl.len().alias("empty_members")
        )
        yield from of_columns(empty, _OF_EMPTY)


def _as_kafka_writes(state: str) -> pl.Expr:
    """Return ``preparing_rebalance`` as ``PreparingRebalance``."""
    return pl.col(state).str.replace_all("_", " ").str.to_titlecase().str.replace_all(" ", "")


_OF_GROUP_TOPIC = columns(
    "kminion_kafka_consumer_group_topic_",
    _GROUP_TOPIC,
    {
        "lag": "The group's lag on the topic.",
        "offset_sum": ("Sum of the group's committed offsets of the topic.", "committed"),
    },
)
_OF_ASSIGNED = columns(
    "kminion_kafka_consumer_group_topic_",
    _GROUP_TOPIC,
    {
        "members": "Members that have partitions of the topic.",
        "assigned_partitions": "Partitions of the topic that are assigned.",
    },
)
_OF_GROUP_PARTITION = columns(
    "kminion_kafka_consumer_group_topic_partition_",
    (*_GROUP_TOPIC, "partition_id"),
    {"lag": "The group's lag on the partition."},
)


def _group_offsets(view: rules.MetricView) -> Iterable[Samples]:
    rows = view.tables["group_offsets"].rename(
        {"group": "group_id", "topic": "topic_name", "partition": "partition_id"}
    )
    totals = rows.group_by(_GROUP_TOPIC, maintain_order=True).agg(
        whole_sum("lag", rules.LAG_UNKNOWN), whole_sum("committed", rules.COMMITTED_UNKNOWN)
    )
    yield from of_columns(totals, _OF_GROUP_TOPIC)
    assigned = rows.filter(pl.col("member_id").is_not_null())
    members = assigned.group_by(_GROUP_TOPIC, maintain_order=True).agg(
        pl.col("member_id").n_unique().alias("members"), pl.len().alias("assigned_partitions")
    )
    yield from of_columns(members, _OF_ASSIGNED)
    if view.per_partition:
        yield from of_columns(rows, _OF_GROUP_PARTITION)


RULES: tuple[rules.Rule, ...] = (
    rule("brokers", _brokers, _OF_CLUSTER, _OF_BROKER, _OF_DISK),
    rule(("partitions", "topics"), _partitions, _OF_TOPIC_INFO, _OF_TOPIC, _OF_PARTITION),
    rule(("groups", "group_members"), _groups, _OF_GROUP_INFO, _OF_GROUP, _OF_EMPTY),
    rule("group_offsets", _group_offsets, _OF_GROUP_TOPIC, _OF_ASSIGNED, _OF_GROUP_PARTITION),
)
