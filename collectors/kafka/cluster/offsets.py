"""Reads of the offsets of a whole cluster: where logs begin, end, and are stable to.

Every read goes to all leaders at once; a broker that fails costs only what it leads. Errors are
read partition by partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import polars as pl
from kafka.protocol.metadata import MetadataRequest

from collectors.errors import CollectorError
from collectors.kafka.cluster.metadata import PARTITIONS_SCHEMA
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.error_codes import LEADER_MOVES, NO_LEADER, NOT_TOLD, reason
from collectors.kafka.protocol.fetch.fetch_requests import (
    ANY_REPLICA,
    CONSUMER,
    READ_COMMITTED,
    READ_UNCOMMITTED,
)
from collectors.kafka.protocol.fetch.topic_records import AskedPartitions, TopicRecords
from collectors.kafka.protocol.many_partitions import OffsetsRequest
from collectors.source.rows import columns_frame, distinct

_EARLIEST, _LATEST = -2, -1
_PARTITION = ["topic", "partition"]
_OFFSETS = ("log_start", "log_end", "last_stable")
_ODD = "the broker answered with a negative offset"
_MOVED = [reason(code) for code in sorted(LEADER_MOVES)]

OFFSETS_SCHEMA = pl.Schema(
    {
        "topic": pl.String(),
        "partition": pl.Int32(),
        "log_start": pl.Int64(),
        "log_end": pl.Int64(),
        "last_stable": pl.Int64(),
        "offsets_unknown": pl.String(),
    }
)


LAG_SCHEMA = pl.Schema(
    {
        "topic": pl.String(),
        "partition": pl.Int32(),
        "broker_id": pl.Int32(),
        "lag": pl.Int64(),
    }
)


def read_offsets(wire: Wire, partitions: pl.DataFrame, deadline: Deadline) -> pl.DataFrame:
    """Read first, end and last stable offset of partitions from their leaders.

    They are read in this order, and a last stable offset beyond the end is set to the end. So start
    <= last stable <= end holds while records arrive, and new records are not taken for an open
    transaction.

    Returns:
        One row a partition (``OFFSETS_SCHEMA``); where an offset is null, ``offsets_unknown``
        says why.
    """
    found = _read_offsets(wire, partitions, deadline)
    moved = found.filter(pl.col("moved")).select("topic", "partition")
    if not moved.is_empty():
        # The leaders have changed since they were asked for.
        with suppress(CollectorError):
            now = _leaders(wire, moved["topic"].unique().to_list(), deadline)
            again = _read_offsets(wire, moved.join(now, on=_PARTITION, how="inner"), deadline)
            found = found.join(again, on=_PARTITION, how="anti").vstack(again)
    return found.drop("moved")


def out_of_sync(partitions: pl.DataFrame) -> pl.DataFrame:
    """Return the replicas that are not in sync: topic, partition, broker_id.

    Those that a reassignment is just adding are among them.
    """
    replicas, in_sync = pl.col("replicas"), pl.col("in_sync_replicas")
    lacking = replicas.list.set_difference(in_sync)
    return (
        partitions.filter(in_sync.list.len() < replicas.list.len())
        .select(*_PARTITION, lacking.alias("broker_id"))
        .explode("broker_id")
        .drop_nulls("broker_id")
    )


def slowest_follower(partitions: pl.DataFrame, lags: pl.DataFrame) -> pl.DataFrame:
    """Return how far the replicas of each partition that are not in sync are behind.

    Args:
        partitions: topic, partition, replicas, in_sync_replicas.
        lags: As far as they are known (``LAG_SCHEMA``).

    Returns:
        topic, partition, ``follower_lag`` of partitions with such replicas: the largest; null
        where that of one of them is unknown.
    """
    known = out_of_sync(partitions).join(lags, on=[*_PARTITION, "broker_id"], how="left")
    lag = pl.col("lag")
    return known.group_by(_PARTITION).agg(
        pl.when(lag.null_count() == 0).then(lag.max()).alias("follower_lag")
    )


def read_follower_ends(wire: Wire, replicas: pl.DataFrame, deadline: Deadline) -> pl.DataFrame:
    """Ask brokers where their own copies of partitions end, whoever leads them.

    Args:
        wire: The connections.
        replicas: topic, partition, broker_id.
        deadline: The poll's.

    Returns:
        The same with ``end``; those that are unknown are missing.
    """
    requests = {}
    for (broker,), part in replicas.partition_by("broker_id", as_dict=True).items():
        requests[int(broker)] = [
            OffsetsRequest.of(
                AskedPartitions.of(part),
                _LATEST,
                isolation_level=READ_UNCOMMITTED,
                replica_id=ANY_REPLICA,
            )
        ]
    schema = {**replicas.schema, "end": pl.Int64()}
    frames = [pl.DataFrame(schema=schema)]
    for broker, answers in wire.each(requests, deadline, answered_offsets).items():
        if not isinstance(answers, CollectorError):
            found = answers[0].rename({"offset": "end"}).drop_nulls("end")
            frames.append(
                found.with_columns(pl.lit(broker, pl.Int32()).alias("broker_id")).select(
                    list(schema)
                )
            )
    return pl.concat(frames)


def _leaders(wire: Wire, topics: Sequence[str], deadline: Deadline) -> pl.DataFrame:
    """Return who leads the partitions of topics now."""
    kind = MetadataRequest.MetadataRequestTopic
    answer = wire.any(
        lambda: MetadataRequest(
            topics=[kind(name=topic) for topic in topics], allow_auto_topic_creation=False
        ),
        deadline,
    )
    rows = [
        (topic.name, partition.partition_index, partition.leader_id)
        for topic in answer.topics or ()
        for partition in topic.partitions or ()
        if partition.leader_id >= 0
    ]
    schema = {name: PARTITIONS_SCHEMA[name] for name in (*_PARTITION, "leader")}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _read_offsets(wire: Wire, partitions: pl.DataFrame, deadline: Deadline) -> pl.DataFrame:
    """Ask leaders once.

    Returns:
        ``OFFSETS_SCHEMA`` and ``moved``: whether another broker may lead the partition now.
    """
    leaderless = partitions.filter(pl.col("leader").is_null())
    held = partitions.filter(pl.col("leader").is_not_null())
    requests = {}
    for (leader,), part in held.partition_by("leader", as_dict=True).items():
        asked = AskedPartitions.of(part)
        requests[int(leader)] = [
            _list_offsets(asked, _EARLIEST, READ_UNCOMMITTED),
            _list_offsets(asked, _LATEST, READ_UNCOMMITTED),
            _list_offsets(asked, _LATEST, READ_COMMITTED),
        ]
    frames = [_without_offsets(leaderless, NO_LEADER)]
    # Each answer becomes columns as soon as it is there: all of them together take much memory.
    for leader, answers in wire.each(requests, deadline, answered_offsets).items():
        if isinstance(answers, CollectorError):
            lost = held.filter(pl.col("leader") == leader)
            frames.append(_without_offsets(lost, str(answers)))
        else:
            frames.append(_offsets(answers))
    found = distinct(pl.concat(frames), _PARTITION)
    left_out = partitions.join(found, on=_PARTITION, how="anti")
    return found if left_out.is_empty() else found.vstack(_without_offsets(left_out, NOT_TOLD))


def _list_offsets(asked: AskedPartitions, time: int, isolation: int) -> Any:
    return OffsetsRequest.of(asked, time, isolation_level=isolation, replica_id=CONSUMER)


def _offsets(answers: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Put the three answers side by side; a broker may order each in its own way."""
    first, *others = (
        answer.rename({"offset": name, "error": f"error_{name}"})
        for answer, name in zip(answers, _OFFSETS, strict=True)
    )
    for other in others:
        if first.select(_PARTITION).equals(other.select(_PARTITION)):  # as a rule
            first = first.hstack(other.drop(_PARTITION))
        else:
            first = first.join(other, on=_PARTITION, how="full", coalesce=True)
    is_odd = pl.any_horizontal(pl.col(*_OFFSETS) < 0).fill_null(False)
    first = first.with_columns(pl.when(is_odd).then(pl.lit(_ODD)).alias("error_of_all"))
    first = first.with_columns(
        pl.when(pl.col(name) >= 0).then(name).alias(name) for name in _OFFSETS
    )
    return first.select(
        "topic",
        "partition",
        "log_start",
        "log_end",
        pl.when(pl.col("last_stable").is_not_null())
        .then(pl.min_horizontal("last_stable", "log_end"))
        .alias("last_stable"),
        pl.coalesce(r"^error_.*$").alias("offsets_unknown"),
        pl.any_horizontal(pl.col(r"^error_.*$").is_in(_MOVED)).fill_null(False).alias("moved"),
    )


def answered_offsets(answer: Any) -> pl.DataFrame:
    """Return an answer to ListOffsets as columns: topic, partition, offset, error."""
    schema = pl.Schema(
        {
            "topic": pl.String(),
            "partition": pl.Int32(),
            "offset": pl.Int64(),
            "error": pl.String(),
        }
    )
    found: TopicRecords | None = getattr(answer, "columns", None)
    if found is not None:
        records = found.records
        frame = found.frame(
            partition=records["partition_index"],
            offset=records["offset"],
            code=records["error_code"],
        )
        reasons = {code: reason(code) for code in frame["code"].unique() if code}
        code = pl.col("code")
        frame = frame.select(
            "topic",
            "partition",
            pl.when(code == 0).then("offset").alias("offset"),
            code.replace_strict(reasons, default=None, return_dtype=pl.String()).alias("error"),
        )
        return distinct(frame, _PARTITION)
    topics: list[str] = []
    partitions: list[int] = []
    offsets: list[int | None] = []
    errors: list[str | None] = []
    for topic in answer.topics or ():
        listed = topic.partitions or ()
        topics += [topic.name] * len(listed)
        for partition in listed:
            code = partition.error_code
            partitions.append(partition.partition_index)
            offsets.append(None if code else partition.offset)
            errors.append(reason(code) if code else None)
    columns = {"topic": topics, "partition": partitions, "offset": offsets, "error": errors}
    return distinct(columns_frame(columns, schema), _PARTITION)


def _without_offsets(partitions: pl.DataFrame, why: str) -> pl.DataFrame:
    return partitions.select(
        "topic",
        "partition",
        *(pl.lit(None, pl.Int64()).alias(name) for name in _OFFSETS),
        pl.lit(why).alias("offsets_unknown"),
        pl.lit(False).alias("moved"),
    )
