"""The names, labels and values of kafka_exporter 1.9, for dashboards that were made for it.

Source: ``setup`` and ``collect`` in its ``kafka_exporter.go``. Two of its values are not given:
lag and offset -1 for partitions without a commit (there is no sample), and sums over partitions
of which some are unknown.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from collectors.exporter import rules
from collectors.exporter.rules import columns, of_columns, rule, whole_sum
from collectors.exporter.text import Samples
from lake.replication import IS_UNDER_REPLICATED

_GROUP_TOPIC = ("consumergroup", "topic")

_OF_BROKERS = columns("kafka_", (), {"brokers": "Brokers in the cluster."})
_OF_BROKER = columns(
    "kafka_broker_", ("id", "address"), {"info": ("A broker of the cluster.", pl.lit(1))}
)


def _brokers(view: rules.MetricView) -> Iterable[Samples]:
    alive = view.tables["brokers"].filter("is_alive")
    yield from of_columns(alive.select(pl.len().alias("brokers")), _OF_BROKERS)
    address = pl.concat_str("host", pl.lit(":"), "port").alias("address")
    yield from of_columns(alive.select(pl.col("broker_id").alias("id"), address), _OF_BROKER)


_OF_TOPIC = columns("kafka_topic_", ("topic",), {"partitions": "Partitions of the topic."})
_OF_PARTITION = columns(
    "kafka_topic_partition_",
    ("topic", "partition"),
    {
        "current_offset": ("The partition's log end.", "log_end"),
        "oldest_offset": ("Its log start.", "log_start"),
        "leader": "Its leader's broker id.",
        "leader_is_preferred": (
            "1 where the leader is the preferred replica.",
            (pl.col("leader") == pl.col("preferred_leader")).fill_null(False),
        ),
        "replicas": ("Its replicas.", pl.col("replicas").list.len()),
        "in_sync_replica": (
            "Its replicas that are in sync.",
            pl.col("in_sync_replicas").list.len(),
        ),
        "under_replicated_partition": (
            "1 where fewer replicas are in sync than there are, without those being added.",
            IS_UNDER_REPLICATED,
        ),
    },
)


def _partitions(view: rules.MetricView) -> Iterable[Samples]:
    rows = view.tables["partitions"]
    topics = rows.group_by("topic", maintain_order=True).agg(pl.len().alias("partitions"))
    yield from of_columns(topics, _OF_TOPIC)
    if view.per_partition:
        yield from of_columns(rows, _OF_PARTITION)


_OF_GROUP_TOPIC = columns(
    "kafka_consumergroup_",
    _GROUP_TOPIC,
    {
        "current_offset_sum": ("Sum of the group's committed offsets of the topic.", "committed"),
        "lag_sum": ("The group's lag on the topic.", "lag"),
    },
)
_OF_GROUP_PARTITION = columns(
    "kafka_consumergroup_",
    (*_GROUP_TOPIC, "partition"),
    {
        "current_offset": ("The committed offset.", "committed"),
        "lag": "The group's lag on the partition.",
    },
)


def _group_offsets(view: rules.MetricView) -> Iterable[Samples]:
    rows = view.tables["group_offsets"].rename({"group": "consumergroup"})
    totals = rows.group_by(_GROUP_TOPIC, maintain_order=True).agg(
        whole_sum("committed", rules.COMMITTED_UNKNOWN), whole_sum("lag", rules.LAG_UNKNOWN)
    )
    yield from of_columns(totals, _OF_GROUP_TOPIC)
    if view.per_partition:
        yield from of_columns(rows, _OF_GROUP_PARTITION)


_OF_GROUP = columns(
    "kafka_consumergroup_", ("consumergroup",), {"members": "Members of the group."}
)


def _groups(view: rules.MetricView) -> Iterable[Samples]:
    return of_columns(view.tables["groups"].rename({"group": "consumergroup"}), _OF_GROUP)


RULES: tuple[rules.Rule, ...] = (
    rule("brokers", _brokers, _OF_BROKERS, _OF_BROKER),
    rule("partitions", _partitions, _OF_TOPIC, _OF_PARTITION),
    rule("group_offsets", _group_offsets, _OF_GROUP_TOPIC, _OF_GROUP_PARTITION),
    rule("groups", _groups, _OF_GROUP),
)
