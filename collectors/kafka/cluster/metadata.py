"""What one broker knows of the whole cluster: brokers, partitions, configurations of topics."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from collectors.errors import CollectorError, OddAnswerError
from collectors.kafka.protocol.broker_requests import Broker, Deadline, Wire
from collectors.kafka.protocol.config_answers import (
    TopicConfigsRequest,
    TopicResult,
    configs_request,
)
from collectors.kafka.protocol.error_codes import reason
from collectors.kafka.protocol.fetch.topic_records import native
from collectors.kafka.protocol.many_partitions import ClusterRequest
from collectors.kafka.protocol.partition_columns import PartitionColumns
from collectors.source.rows import columns_frame, distinct

_TOPIC_RESOURCE = 2
_DYNAMIC_TOPIC_CONFIG = 1
CONFIGS_A_REQUEST = 500
"""Topics whose configuration is asked for at once: an answer of some megabytes."""
NO_CONFIG_RIGHT = "not permitted: needs DESCRIBE_CONFIGS on the topic"
_PARTITION = ["topic", "partition"]
_NAMED = 5  # topics that are named in a problem

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
TopicConfig = Mapping[str, tuple[str | None, bool]]
"""Setting: its value, and whether it was set on the topic itself."""

_LISTS = ("replicas", "in_sync_replicas")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """What one broker knows about the cluster.

    Attributes:
        problems: What is said of topics that the broker could not describe.
        controller: Broker id of the controller as clients see it; with KRaft that is any broker
            (see ``brokerreads.read_quorum``).
        partitions: One row a partition (``PARTITIONS_SCHEMA``); ``leader`` is null when there is
            none, ``topic_id`` changes when a topic is deleted and created anew.
    """

    cluster_id: str | None
    controller: int | None
    brokers: tuple[Broker, ...]
    partitions: pl.DataFrame
    problems: Sequence[str] = ()


def read_metadata(wire: Wire, deadline: Deadline) -> Metadata:
    """Ask one broker for the cluster's layout. All topics are meant, none is named or created.

    Raises:
        CollectorError: It is unknown.
    """
    answer = wire.any(
        lambda: ClusterRequest(topics=None, allow_auto_topic_creation=False), deadline
    )
    brokers = tuple(
        Broker(broker_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack)
        for broker in answer.brokers or ()
    )
    if not brokers:  # as one says that has just begun: nothing would look like none
        raise OddAnswerError("a broker answered that the cluster has no broker")
    topics = answer.topics or ()
    failed: dict[int, list[str]] = defaultdict(list)
    for topic in topics:
        if topic.error_code:
            failed[topic.error_code].append(topic.name or str(topic.topic_id))
    wire.meet(brokers)
    return Metadata(
        cluster_id=answer.cluster_id,
        controller=answer.controller_id if answer.controller_id >= 0 else None,
        brokers=brokers,
        partitions=distinct(_partitions(topics, getattr(answer, "columns", None)), _PARTITION).sort(
            _PARTITION
        ),
        problems=[_left_out(names, code) for code, names in sorted(failed.items())],
    )


def _partitions(topics: Sequence[Any], encoded: PartitionColumns | None) -> pl.DataFrame:
    """Return the partitions of the topics that the broker could describe."""
    if encoded is None:
        return _from_objects(topics)
    of_topics = columns_frame(
        {
            "topic": [topic.name for topic in topics],
            "topic_id": [str(topic.topic_id) if topic.topic_id else None for topic in topics],
            "internal": [topic.is_internal for topic in topics],
            "is_known": [not topic.error_code and topic.name is not None for topic in topics],
        },
        pl.Schema(
            {
                "topic": pl.String(),
                "topic_id": pl.String(),
                "internal": pl.Boolean(),
                "is_known": pl.Boolean(),
            }
        ),
    )
    frames = [pl.DataFrame(schema=PARTITIONS_SCHEMA)]
    for part in encoded.alike():
        leader = pl.Series("leader", native(part.leader))
        columns = {
            "partition": native(part.partition),
            "leader": leader,
            "replicas": _lists(part.replicas),
            "in_sync_replicas": _lists(part.in_sync),
        }
        rows = of_topics[part.topic].hstack(pl.DataFrame(columns))
        rows = rows.filter("is_known").with_columns(
            pl.when(pl.col("leader") >= 0).then("leader").alias("leader")
        )
        frames.append(rows.select(PARTITIONS_SCHEMA.names()))
    return pl.concat(frames)


def _from_objects(topics: Sequence[Any]) -> pl.DataFrame:
    columns: dict[str, list[Any]] = {name: [] for name in PARTITIONS_SCHEMA}
    for topic in topics:
        if topic.error_code or topic.name is None:
            continue
        partitions = topic.partitions or ()
        count = len(partitions)
        columns["topic"] += [topic.name] * count
        columns["topic_id"] += [str(topic.topic_id) if topic.topic_id else None] * count
        columns["internal"] += [topic.is_internal] * count
        for partition in partitions:
            leader = partition.leader_id
            columns["partition"].append(partition.partition_index)
            columns["leader"].append(leader if leader >= 0 else None)
            columns["replicas"].append(partition.replica_nodes or [])
            columns["in_sync_replicas"].append(partition.isr_nodes or [])
    return columns_frame(
        {name: _brokers(values) if name in _LISTS else values for name, values in columns.items()},
        PARTITIONS_SCHEMA,
    )


def _config(result: Any) -> TopicConfig:
    """Return the settings that are answered for a topic."""
    if isinstance(result, TopicResult):
        return result.config
    return {
        config.name: (config.value, config.config_source == _DYNAMIC_TOPIC_CONFIG)
        for config in result.configs or ()
        if config.name is not None and not config.is_sensitive
    }


def _lists(rows: npt.NDArray[Any]) -> pl.Series:
    """Return a column of lists from lists of one length."""
    count, length = rows.shape
    ends = np.arange(0, (count + 1) * length, max(length, 1), dtype=np.int32)
    if not length:
        ends = np.zeros(count + 1, dtype=np.int32)
    return _list_series(ends[: count + 1], native(rows).ravel())


def _list_series(ends: Any, items: Any) -> pl.Series:
    flat = pa.Array.from_buffers(pa.int32(), len(items), [None, pa.py_buffer(items)])
    lists = pa.list_(pa.int32())
    buffers = [None, pa.py_buffer(ends)]
    return pl.Series(pa.Array.from_buffers(lists, len(ends) - 1, buffers, children=[flat]))


def _left_out(topics: Sequence[str], code: int) -> str:
    named = ", ".join(sorted(topics)[:_NAMED])
    more = f" and {len(topics) - _NAMED} more" if len(topics) > _NAMED else ""
    return f"the cluster cannot describe the topics {named}{more}: {reason(code)}"


def read_topic_configs(
    wire: Wire,
    asked: Mapping[int, Sequence[str]],
    deadline: Deadline,
    same: dict[tuple[tuple[str, tuple[str | None, bool]], ...], TopicConfig],
) -> dict[str, TopicConfig | str]:
    """Read the configuration of topics, of several brokers at the same time.

    Args:
        wire: Where to ask.
        asked: Broker: which topics it is asked for, at most ``CONFIGS_A_REQUEST``. Every broker
            knows all of them. Where it does not answer, the next one is asked.
        deadline: The poll's.
        same: The configurations that are known, by their content; new ones are added. Most topics
            are configured alike, and one configuration takes five kilobytes: those that are equal
            are one object.

    Returns:
        Topic: its settings, each with its value and whether it was set on the topic itself; or
        why they are unknown. Sensitive values are never returned.
    """
    requests = {broker: [_describe_topics(topics)] for broker, topics in asked.items()}
    found: dict[str, TopicConfig | str] = {}
    results: list[Any] = []
    for broker, answers in wire.each(requests, deadline).items():
        try:
            if isinstance(answers, CollectorError):
                answers = [wire.any(partial(_describe_topics, asked[broker]), deadline)]
        except CollectorError as error:
            found |= dict.fromkeys(asked[broker], str(error))
            continue
        results += answers[0].results or ()
    # By identity: what an answer holds more than once is looked up once.
    shared: dict[int, tuple[TopicConfig, TopicConfig]] = {}
    for result in results:
        if result.error_code:
            denied = result.error_code == 29
            found[result.resource_name] = NO_CONFIG_RIGHT if denied else reason(result.error_code)
            continue
        config = _config(result)
        if id(config) not in shared:
            shared[id(config)] = config, same.setdefault(tuple(config.items()), config)
        found[result.resource_name] = shared[id(config)][1]
    return found


def _brokers(values: list[list[int]]) -> pl.Series:
    """Return a column of lists; Arrow builds it twenty times as fast as Polars does.

    From buffers, since ``pa.array`` imports pandas, if only to ask whether a list is one of its
    own: 60 MB that nothing here needs.
    """
    ends = array("i", accumulate(map(len, values), initial=0))
    return _list_series(ends, array("i", chain.from_iterable(values)))


def _describe_topics(topics: Sequence[str]) -> Any:
    return configs_request(_TOPIC_RESOURCE, topics, TopicConfigsRequest)
