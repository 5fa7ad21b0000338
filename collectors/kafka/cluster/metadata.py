"""Reads of a whole cluster in a few requests: metadata and offsets, as columns.

Every read goes to all brokers that it concerns at once; a broker that fails costs only what it
holds. Errors are read partition by partition. Groups are read in ``groups``, disks and the quorum
in ``broker_reads``.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain
from typing import Any

import polars as pl
import pyarrow as pa
from kafka.protocol.admin import DescribeConfigsRequest
from kafka.protocol.metadata import MetadataRequest

from collectors.errors import CollectorError
from collectors.kafka.protocol.broker_requests import Broker, Deadline, Wire
from collectors.kafka.protocol.error_codes import reason
from collectors.kafka.protocol.fetch_requests import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    list_offsets_request,
)

_TOPIC_RESOURCE = 2
_DYNAMIC_TOPIC_CONFIG = 1
_CONFIGS_A_REQUEST = 500
_EARLIEST, _LATEST = -2, -1

PARTITIONS_SCHEMA = pl.Schema(
    {
        "topic": pl.String(),
        "topic_id": pl.String(),
        "internal": pl.Boolean(),
        "partition": pl.Int32(),
        "leader": pl.Int32(),
        "replicas": pl.List(pl.Int32()),
        "in_sync_replicas": pl.List(pl.Int32()),
    }
)
_LISTS = ("replicas", "in_sync_replicas")
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


@dataclass(frozen=True, slots=True)
class Metadata:
    """What one broker knows about the cluster.

    Attributes:
        controller: Broker id of the controller as clients see it; with KRaft that is any broker
            (see ``brokerreads.read_quorum``).
        partitions: One row a partition (``PARTITIONS_SCHEMA``); ``leader`` is null when there is
            none, ``topic_id`` changes when a topic is deleted and created anew.
    """

    cluster_id: str | None
    controller: int | None
    brokers: tuple[Broker, ...]
    partitions: pl.DataFrame


def read_metadata(wire: Wire, deadline: Deadline) -> Metadata:
    """Ask one broker for the cluster's layout. All topics are meant, none is named or created."""
    answer = wire.any(
        lambda: MetadataRequest(topics=None, allow_auto_topic_creation=False), deadline
    )
    brokers = tuple(
        Broker(broker.node_id, broker.host, broker.port, broker.rack) for broker in answer.brokers
    )
    columns: dict[str, list[Any]] = {name: [] for name in PARTITIONS_SCHEMA}
    for topic in answer.topics:
        if topic.error_code:
            continue
        count = len(topic.partitions)
        columns["topic"] += [topic.name] * count
        columns["topic_id"] += [str(topic.topic_id) if topic.topic_id else None] * count
        columns["internal"] += [topic.is_internal] * count
        for partition in topic.partitions:
            leader = partition.leader_id
            columns["partition"].append(partition.partition_index)
            columns["leader"].append(leader if leader >= 0 else None)
            columns["replicas"].append(partition.replica_nodes)
            columns["in_sync_replicas"].append(partition.isr_nodes)
    wire.meet(brokers)
    return Metadata(
        answer.cluster_id,
        answer.controller_id if answer.controller_id >= 0 else None,
        brokers,
        pl.DataFrame(
            {
                name: _brokers(values) if name in _LISTS else values
                for name, values in columns.items()
            },
            schema=PARTITIONS_SCHEMA,
        ).sort("topic", "partition"),
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
    leaderless = partitions.filter(pl.col("leader").is_null())
    held = partitions.filter(pl.col("leader").is_not_null())
    requests = {}
    for (leader,), part in held.partition_by("leader", as_dict=True).items():
        topics = part.group_by("topic", maintain_order=True).agg("partition").rows()
        requests[int(leader)] = [
            _list_offsets(topics, _EARLIEST, READ_UNCOMMITTED),
            _list_offsets(topics, _LATEST, READ_UNCOMMITTED),
            _list_offsets(topics, _LATEST, READ_COMMITTED),
        ]
    frames = [_without_offsets(leaderless, "the partition has no leader")]
    for leader, answers in wire.each(requests, deadline).items():
        if isinstance(answers, CollectorError):
            frames.append(_without_offsets(held.filter(pl.col("leader") == leader), str(answers)))
        else:
            frames.append(_offsets(answers))
    return pl.concat(frames)


def read_topic_configs(
    wire: Wire, topics: Sequence[str], deadline: Deadline
) -> dict[str, dict[str, tuple[str | None, bool]] | str]:
    """Read the configuration of topics.

    Returns:
        Topic: its settings, each with its value and whether it was set on the topic itself; or
        why they are unknown. Sensitive values are never returned.
    """
    found: dict[str, dict[str, tuple[str | None, bool]] | str] = {}
    for chunk in _chunks(topics, _CONFIGS_A_REQUEST):
        try:
            answer = wire.any(partial(_describe_topics, chunk), deadline)
        except CollectorError as error:
            found.update(dict.fromkeys(chunk, str(error)))
            continue
        for result in answer.results:
            if result.error_code:
                denied = result.error_code == 29
                found[result.resource_name] = (
                    "not permitted: needs DESCRIBE_CONFIGS on the topic"
                    if denied
                    else reason(result.error_code)
                )
                continue
            found[result.resource_name] = {
                config.name: (config.value, config.config_source == _DYNAMIC_TOPIC_CONFIG)
                for config in result.configs
                if not config.is_sensitive
            }
    return found


def _brokers(values: list[list[int]]) -> pl.Series:
    """Return a column of lists; Arrow builds it twenty times as fast as Polars does.

    From buffers, since ``pa.array`` imports pandas, if only to ask whether a list is one of its
    own: 60 MB that nothing here needs.
    """
    ends = array("i", accumulate(map(len, values), initial=0))
    items = array("i", chain.from_iterable(values))
    flat = pa.Array.from_buffers(pa.int32(), len(items), [None, pa.py_buffer(items)])
    lists = pa.list_(pa.int32())
    return pl.Series(
        pa.Array.from_buffers(lists, len(values), [None, pa.py_buffer(ends)], children=[flat])
    )


def _describe_topics(topics: Sequence[str]) -> Any:
    resource = DescribeConfigsRequest.DescribeConfigsResource
    return DescribeConfigsRequest(
        resources=[
            resource(resource_type=_TOPIC_RESOURCE, resource_name=topic, configuration_keys=None)
            for topic in topics
        ],
        include_synonyms=False,
        include_documentation=False,
    )


def _list_offsets(topics: Sequence[tuple[str, list[int]]], time: int, isolation: int) -> Any:
    wanted = {name: [(partition, time) for partition in partitions] for name, partitions in topics}
    return list_offsets_request(wanted, isolation_level=isolation)


def _offsets(answers: Sequence[Any]) -> pl.DataFrame:
    """Put the three answers side by side; a broker may order each in its own way."""
    first, *others = (
        _one_offset(answer, name)
        for answer, name in zip(answers, ("log_start", "log_end", "last_stable"), strict=True)
    )
    for other in others:
        first = first.join(other, on=["topic", "partition"], how="full", coalesce=True)
    return first.select(
        "topic",
        "partition",
        "log_start",
        "log_end",
        pl.when(pl.col("last_stable").is_not_null())
        .then(pl.min_horizontal("last_stable", "log_end"))
        .alias("last_stable"),
        pl.coalesce(r"^error_.*$").alias("offsets_unknown"),
    )


def _one_offset(answer: Any, name: str) -> pl.DataFrame:
    topics: list[str] = []
    partitions: list[int] = []
    offsets: list[int | None] = []
    errors: list[str | None] = []
    for topic in answer.topics:
        topics += [topic.name] * len(topic.partitions)
        for partition in topic.partitions:
            code = partition.error_code
            partitions.append(partition.partition_index)
            offsets.append(None if code else partition.offset)
            errors.append(reason(code) if code else None)
    return pl.DataFrame(
        {"topic": topics, "partition": partitions, name: offsets, f"error_{name}": errors},
        schema={
            "topic": pl.String(),
            "partition": pl.Int32(),
            name: pl.Int64(),
            f"error_{name}": pl.String(),
        },
    )


def _without_offsets(partitions: pl.DataFrame, why: str) -> pl.DataFrame:
    return partitions.select(
        "topic",
        "partition",
        *(pl.lit(None, pl.Int64()).alias(name) for name in ("log_start", "log_end", "last_stable")),
        pl.lit(why).alias("offsets_unknown"),
    )


def _chunks(items: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
