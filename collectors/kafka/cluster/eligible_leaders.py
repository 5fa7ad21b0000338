"""Which replicas may lead a partition again without losing a message, beside those in sync.

With eligible leader replicas (KIP-966, by default in clusters of Kafka 4.1 and newer) the last
replica leaves the in-sync replicas when its broker goes, and is remembered as eligible.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from kafka.protocol.admin import DescribeTopicPartitionsRequest

from collectors.kafka.protocol.broker_requests import Deadline, Wire

MOST_PARTITIONS = 2000
"""Partitions that a broker tells of in one answer, by its own default."""

_PARTITION = ["topic", "partition"]

ELIGIBLE_SCHEMA = pl.Schema(
    {
        "topic": pl.String(),
        "partition": pl.Int32(),
        "eligible_leader_replicas": pl.List(pl.Int32()),
    }
)


def read_eligible_leaders(wire: Wire, partitions: pl.DataFrame, deadline: Deadline) -> pl.DataFrame:
    """Ask one broker who may lead partitions that have no leader.

    Args:
        wire: The connections.
        partitions: topic, partition, leader; nothing is asked for where each has a leader.
        deadline: The poll's.

    Returns:
        One row a partition without a leader that was told of (``ELIGIBLE_SCHEMA``); of at most
        ``MOST_PARTITIONS``. A list is empty where no replica is known to be eligible.

    Raises:
        CollectorError: They are unknown.
        UnsupportedError: The brokers are older than Kafka 3.7, or work with ZooKeeper.
    """
    leaderless = partitions.filter(pl.col("leader").is_null()).select(_PARTITION)
    if leaderless.is_empty():
        return pl.DataFrame(schema=ELIGIBLE_SCHEMA)
    topics = leaderless.head(MOST_PARTITIONS)["topic"].unique().sort().to_list()
    answer = wire.any(lambda: _describe(topics), deadline)
    told = pl.DataFrame(
        [
            (topic.name, each.partition_index, each.eligible_leader_replicas)
            for topic in answer.topics or ()
            if not topic.error_code
            for each in topic.partitions or ()
        ],
        schema=ELIGIBLE_SCHEMA,
        orient="row",
    )
    return told.unique(_PARTITION, keep="first").join(leaderless, on=_PARTITION, how="semi")


def _describe(topics: list[str]) -> Any:
    named = DescribeTopicPartitionsRequest.TopicRequest
    return DescribeTopicPartitionsRequest(
        topics=[named(name=topic) for topic in topics],
        response_partition_limit=MOST_PARTITIONS,
        cursor=None,
    )
