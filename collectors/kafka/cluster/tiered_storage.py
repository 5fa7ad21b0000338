"""Tiered storage: what of a log lies on the brokers' disks, and what in remote storage."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from collectors.errors import CollectorError
from collectors.kafka.cluster.metadata import TopicConfig
from collectors.kafka.cluster.offsets import answered_offsets
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.fetch.fetch_requests import (
    CONSUMER,
    EARLIEST_LOCAL,
    LATEST_TIERED,
    READ_UNCOMMITTED,
)
from collectors.kafka.protocol.fetch.topic_records import AskedPartitions
from collectors.kafka.protocol.many_partitions import OffsetsRequest

_SETTING = "remote.storage.enable"
_PARTITION = ["topic", "partition"]

TIERED_SCHEMA = pl.Schema(
    {
        "topic": pl.String(),
        "partition": pl.Int32(),
        "local_log_start": pl.Int64(),
        "remote_log_end": pl.Int64(),
        "tiered_unknown": pl.String(),
    }
)


def tiered_topics(configs: Mapping[str, TopicConfig | str]) -> list[str]:
    """Return the topics whose closed segments are copied to remote storage."""
    return [
        topic
        for topic, config in configs.items()
        if not isinstance(config, str) and config.get(_SETTING, (None, False))[0] == "true"
    ]


def read_tiered(wire: Wire, partitions: pl.DataFrame, deadline: Deadline) -> pl.DataFrame:
    """Ask leaders where the logs on their disks begin and where those in remote storage end.

    Args:
        wire: The connections.
        partitions: topic, partition, leader of partitions that have a leader.
        deadline: The poll's.

    Returns:
        One row a partition (``TIERED_SCHEMA``): ``remote_log_end`` is the offset behind the last
        record that was copied, 0 where none was. Both are null where ``tiered_unknown`` says why.
    """
    requests = {}
    for (leader,), part in partitions.partition_by("leader", as_dict=True).items():
        asked = AskedPartitions.of(part)
        requests[int(leader)] = [
            OffsetsRequest.of(asked, time, isolation_level=READ_UNCOMMITTED, replica_id=CONSUMER)
            for time in (EARLIEST_LOCAL, LATEST_TIERED)
        ]
    frames = [pl.DataFrame(schema=TIERED_SCHEMA)]
    for leader, answers in wire.each(requests, deadline, answered_offsets).items():
        if isinstance(answers, CollectorError):
            lost = partitions.filter(pl.col("leader") == leader).select(_PARTITION)
            frames.append(_fitted(lost.with_columns(pl.lit(str(answers)).alias("tiered_unknown"))))
        else:
            frames.append(_side_by_side(*answers))
    return pl.concat(frames)


def _side_by_side(local: pl.DataFrame, remote: pl.DataFrame) -> pl.DataFrame:
    both = local.join(remote, on=_PARTITION, how="full", coalesce=True, suffix="_remote")
    return _fitted(
        both.with_columns(
            pl.col("offset").alias("local_log_start"),
            (pl.col("offset_remote") + 1).alias("remote_log_end"),
            pl.coalesce("error", "error_remote").alias("tiered_unknown"),
        )
    )


def _fitted(rows: pl.DataFrame) -> pl.DataFrame:
    missing = [
        pl.lit(None, type_).alias(name)
        for name, type_ in TIERED_SCHEMA.items()
        if name not in rows.columns
    ]
    return rows.with_columns(missing).select(TIERED_SCHEMA.names())
