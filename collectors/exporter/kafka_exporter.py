"""The names, labels and values of kafka_exporter 1.9, for dashboards that were made for it.

Source: ``setup`` and ``collect`` in its ``kafka_exporter.go``. Two of its values are not given:
lag and offset -1 for partitions without a commit (there is no sample), and sums over partitions
of which some are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from collectors.exporter.rules import (
    COMMITTED_UNKNOWN,
    LAG_UNKNOWN,
    MetricView,
    Rule,
    column,
    of_columns,
    rule,
    whole_sum,
)
from collectors.exporter.text import Samples
from lake.replication import IS_UNDER_REPLICATED

_PARTITION = ("topic", "partition")
_GROUP_TOPIC = ("consumergroup", "topic")
_GROUP_PARTITION = ("consumergroup", "topic", "partition")


_OF_BROKERS = (column("kafka_brokers", "Brokers in the cluster.", (), "brokers"),)
_OF_BROKER = (
    column("kafka_broker_info", "A broker of the cluster.", ("id", "address"), pl.lit(1)),
)


def _brokers(view: MetricView) -> Iterable[Samples]:
    alive = view.tables["brokers"].filter("is_alive")
    yield from of_columns(alive.select(pl.len().alias("brokers")), _OF_BROKERS)
    address = pl.concat_str("host", pl.lit(":"), "port").alias("address")
    yield from of_columns(alive.select(pl.col("broker_id").alias("id"), address), _OF_BROKER)


_OF_TOPIC = (
    column("kafka_topic_partitions", "Partitions of the topic.", ("topic",), "partitions"),
)
_OF_PARTITION = (
    column(
        "kafka_topic_partition_current_offset", "The partition's log end.", _PARTITION, "log_end"
    ),
    column("kafka_topic_partition_oldest_offset", "Its log start.", _PARTITION, "log_start"),
    column("kafka_topic_partition_leader", "Its leader's broker id.", _PARTITION, "leader"),
    column(
        "kafka_topic_partition_leader_is_preferred",
        "1 where the leader is the preferred replica.",
        _PARTITION,
        (pl.col("leader") == pl.col("preferred_leader")).fill_null(False),
    ),
    column(
        "kafka_topic_partition_replicas", "Its replicas.", _PARTITION, pl.col("replicas").list.len()
    ),
    column(
        "kafka_topic_partition_in_sync_replica",
        "Its replicas that are in sync.",
        _PARTITION,
        pl.col("in_sync_replicas").list.len(),
    ),
    column(
        "kafka_topic_partition_under_replicated_partition",
        "1 where fewer replicas are in sync than there are.",
        _PARTITION,
        IS_UNDER_REPLICATED,
    ),
)


def _partitions(view: MetricView) -> Iterable[Samples]:
    rows = view.tables["partitions"]
    topics = rows.group_by("topic", maintain_order=True).agg(pl.len().alias("partitions"))
    yield from of_columns(topics, _OF_TOPIC)
    if view.per_partition:
        yield from of_columns(rows, _OF_PARTITION)


_OF_GROUP_TOPIC = (
    column(
        "kafka_consumergroup_current_offset_sum",
        "Sum of the group's committed offsets of the topic.",
        _GROUP_TOPIC,
        "committed",
    ),
    column("kafka_consumergroup_lag_sum", "The group's lag on the topic.", _GROUP_TOPIC, "lag"),
)
_OF_GROUP_PARTITION = (
    column(
        "kafka_consumergroup_current_offset", "The committed offset.", _GROUP_PARTITION, "committed"
    ),
    column("kafka_consumergroup_lag", "The group's lag on the partition.", _GROUP_PARTITION, "lag"),
)


def _group_offsets(view: MetricView) -> Iterable[Samples]:
    rows = view.tables["group_offsets"].rename({"group": "consumergroup"})
    totals = rows.group_by(_GROUP_TOPIC, maintain_order=True).agg(
        whole_sum("committed", COMMITTED_UNKNOWN), whole_sum("lag", LAG_UNKNOWN)
    )
    yield from of_columns(totals, _OF_GROUP_TOPIC)
    if view.per_partition:
        yield from of_columns(rows, _OF_GROUP_PARTITION)


_OF_GROUP = (
    column("kafka_consumergroup_members", "Members of the group.", ("consumergroup",), "members"),
)


def _groups(view: MetricView) -> Iterable[Samples]:
    return of_columns(view.tables["groups"].rename({"group": "consumergroup"}), _OF_GROUP)


RULES: tuple[Rule, ...] = (
    rule("brokers", _brokers, _OF_BROKERS, _OF_BROKER),
    rule("partitions", _partitions, _OF_TOPIC, _OF_PARTITION),
    rule("group_offsets", _group_offsets, _OF_GROUP_TOPIC, _OF_GROUP_PARTITION),
    rule("groups", _groups, _OF_GROUP),
)
