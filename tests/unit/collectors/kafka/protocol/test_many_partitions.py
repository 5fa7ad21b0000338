"""What is read without kafka-python is what kafka-python reads."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl
import pytest
from kafka.protocol.admin import DescribeConfigsResponse, DescribeLogDirsResponse
from kafka.protocol.consumer import ListOffsetsResponse
from kafka.protocol.metadata import MetadataResponse

from collectors.kafka.protocol.config_answers import TopicConfigsRequest
from collectors.kafka.protocol.fetch.fetch_requests import list_offsets_request
from collectors.kafka.protocol.fetch.topic_records import AskedPartitions
from collectors.kafka.protocol.many_partitions import (
    ClusterRequest,
    LogDirectoriesRequest,
    OffsetsRequest,
)

WANTED = [("orders", [0, 2, 200]), ("zahlungen-ü", []), ("a" * 200, list(range(300)))]


ASKED = AskedPartitions(
    topics=[name for name, _ in WANTED],
    counts=[len(numbers) for _, numbers in WANTED],
    partitions=np.array([number for _, numbers in WANTED for number in numbers], dtype=np.int32),
)


def metadata(brokers: list[int]) -> Any:
    topic = MetadataResponse.MetadataResponseTopic
    partition = topic.MetadataResponsePartition
    broker = MetadataResponse.MetadataResponseBroker
    partitions = [
        partition(
            error_code=5 if number == 1 else 0,
            partition_index=number,
            leader_id=-1 if number == 1 else 2,
            leader_epoch=7,
            replica_nodes=brokers,
            isr_nodes=brokers[:1],
            offline_replicas=brokers[1:],
        )
        for number in range(3)
    ]
    return MetadataResponse(
        throttle_time_ms=12,
        brokers=[
            broker(node_id=1, host="a", port=9092, rack=None),
            broker(node_id=2, host="b", port=9093, rack="west"),
        ],
        cluster_id="cluster",
        controller_id=2,
        topics=[
            topic(error_code=0, name="t", topic_id=UUID(int=5), is_internal=True, partitions=[]),
            topic(error_code=3, name="u", topic_id=UUID(int=6), partitions=partitions),
        ],
    )


def offsets() -> Any:
    topic = ListOffsetsResponse.ListOffsetsTopicResponse
    partition = topic.ListOffsetsPartitionResponse
    return ListOffsetsResponse(
        throttle_time_ms=0,
        topics=[
            topic(
                name=name,
                partitions=[
                    partition(partition_index=number, error_code=number % 2, offset=10**12 + number)
                    for number in partitions
                ],
            )
            for name, partitions in WANTED
        ],
    )


def directories() -> Any:
    result = DescribeLogDirsResponse.DescribeLogDirsResult
    topic = result.DescribeLogDirsTopic
    partition = topic.DescribeLogDirsPartition
    return DescribeLogDirsResponse(
        throttle_time_ms=0,
        error_code=0,
        results=[
            result(
                error_code=0,
                log_dir="/data",
                topics=[
                    topic(
                        name="orders",
                        partitions=[
                            partition(
                                partition_index=4,
                                partition_size=99,
                                offset_lag=3,
                                is_future_key=True,
                            )
                        ],
                    )
                ],
                total_bytes=10,
                usable_bytes=-1,
                is_cordoned=True,
            ),
            result(error_code=56, log_dir="/gone", topics=[], total_bytes=-1, usable_bytes=-1),
        ],
    )


def seen_metadata(answer: Any) -> object:
    return (
        answer.throttle_time_ms,
        answer.cluster_id,
        answer.controller_id,
        [(one.node_id, one.host, one.port, one.rack) for one in answer.brokers],
        [
            (topic.error_code, topic.name, str(topic.topic_id), bool(topic.is_internal), partitions)
            for topic, partitions in zip(answer.topics, of_metadata(answer), strict=True)
        ],
    )


def of_metadata(answer: Any) -> list[list[tuple[object, ...]]]:
    """Return the partitions of each topic, from columns or from objects."""
    found: list[list[tuple[object, ...]]] = [[] for _ in answer.topics]
    if not hasattr(answer, "columns"):
        for topic, partitions in zip(answer.topics, found, strict=True):
            for each in topic.partitions:
                lists = [*each.replica_nodes], [*each.isr_nodes]
                partitions.append((each.partition_index, each.leader_id, *lists))
    else:
        for part in answer.columns.alike():
            columns = (part.partition, part.leader, part.replicas, part.in_sync)
            rows = zip(part.topic.tolist(), *(each.tolist() for each in columns), strict=True)
            for number, *row in rows:
                found[number].append(tuple(row))
    return [sorted(partitions) for partitions in found]


def seen_offsets(answer: Any) -> object:
    return answer.throttle_time_ms, of_topics(answer, "partition_index", "error_code", "offset")


def of_topics(answer: Any, *fields: str) -> list[tuple[str, list[tuple[int, ...]]]]:
    """Return fields of the partitions of each topic, from columns or from objects."""
    if hasattr(answer, "columns"):
        rows = iter(answer.columns.records[list(fields)].tolist())
        topics = zip(answer.columns.topics, answer.columns.counts, strict=True)
        return [(topic, [next(rows) for _ in range(count)]) for topic, count in topics]
    return [
        (topic.name, [tuple(getattr(each, field) for field in fields) for each in topic.partitions])
        for topic in answer.topics
    ]


def seen_directories(answer: Any) -> object:
    return (
        answer.throttle_time_ms,
        answer.error_code,
        [
            (
                one.error_code,
                one.log_dir,
                one.total_bytes,
                one.usable_bytes,
                bool(one.is_cordoned),
                of_topics(one, "partition_index", "partition_size", "is_future_key"),
            )
            for one in answer.results
        ],
    )


def configs() -> Any:
    result = DescribeConfigsResponse.DescribeConfigsResult
    config = result.DescribeConfigsResourceResult
    alike = [("retention.ms", "1000", 1, False), ("segment.ms", None, 5, False)]
    secret = [("password", "hunter2", 1, True), ("retention.ms", "2000", 1, False)]
    return DescribeConfigsResponse(
        throttle_time_ms=4,
        results=[
            result(
                error_code=code,
                error_message="no" if code else None,
                resource_type=2,
                resource_name=name,
                configs=[
                    config(
                        name=key,
                        value=value,
                        read_only=False,
                        config_source=source,
                        is_sensitive=is_sensitive,
                        synonyms=[],
                        config_type=5,
                        documentation=None,
                    )
                    for key, value, source, is_sensitive in settings
                ],
            )
            for name, code, settings in (
                ("a", 0, alike),
                ("b", 0, secret),
                ("c", 0, alike),
                ("d", 29, []),
                ("e", 0, []),
            )
        ],
    )


def seen_configs(answer: Any) -> object:
    def settings(one: Any) -> dict[str, tuple[str | None, bool]]:
        if hasattr(one, "config"):
            return dict(one.config)
        return {
            each.name: (each.value, each.config_source == 1)
            for each in one.configs
            if not each.is_sensitive
        }

    return answer.throttle_time_ms, [
        (one.error_code, one.resource_name, settings(one)) for one in answer.results
    ]


Case = tuple[Any, Any, type[Any], Callable[[Any], object], int]

CASES = [
    *(
        (
            ClusterRequest(topics=None),
            metadata([1, 2, 300]),
            MetadataResponse,
            seen_metadata,
            number,
        )
        for number in (10, 11, 12, 13)
    ),
    *(
        (
            LogDirectoriesRequest(topics=None),
            directories(),
            DescribeLogDirsResponse,
            seen_directories,
            number,
        )
        for number in (4, 5)
    ),
    *(
        (
            OffsetsRequest.of(ASKED, -1, isolation_level=0, replica_id=-1),
            offsets(),
            ListOffsetsResponse,
            seen_offsets,
            number,
        )
        for number in (6, 7)
    ),
    (TopicConfigsRequest(resources=[]), configs(), DescribeConfigsResponse, seen_configs, 4),
]
by_version = pytest.mark.parametrize(
    ("request_", "answer", "kind", "seen", "version"),
    CASES,
    ids=[f"{case[2].__name__}-{case[4]}" for case in CASES],
)


@by_version
def test_answers_are_read_as_kafka_python_reads_them(
    request_: Any, answer: Any, kind: type[Any], seen: Callable[[Any], object], version: int
) -> None:
    body = answer.encode(version=version)
    request_.API_VERSION = version
    found = request_.decode_answer(memoryview(body))
    assert seen(found) == seen(kind.decode(body, version=version))


@by_version
def test_a_broken_answer_is_left_to_kafka_python_or_read_without_a_crash(
    request_: Any, answer: Any, kind: type[Any], seen: Callable[[Any], object], version: int
) -> None:
    body = answer.encode(version=version)
    request_.API_VERSION = version
    dice = random.Random(7)  # noqa: S311
    refused = 0
    for _ in range(500):
        broken = bytearray(body)
        for _ in range(dice.randint(1, 3)):
            broken[dice.randrange(len(broken))] = dice.randrange(256)
        del broken[dice.choice([len(broken), dice.randrange(len(broken))]) :]
        try:
            seen(request_.decode_answer(memoryview(bytes(broken))))
        except (ValueError, IndexError, struct.error):
            refused += 1
    assert 0 < refused < 500


def test_topics_that_are_configured_alike_share_their_settings() -> None:
    request = TopicConfigsRequest(resources=[])
    request.API_VERSION = 4
    first, second, third, *_ = request.decode_answer(
        memoryview(configs().encode(version=4))
    ).results
    assert first.config is third.config
    assert second.config == {"retention.ms": ("2000", True)}


def test_what_is_unusual_is_left_to_kafka_python() -> None:
    request = ClusterRequest(topics=None)
    request.API_VERSION = 12
    with pytest.raises(ValueError, match="unusual"):
        request.decode_answer(memoryview(metadata(list(range(127))).encode(version=12)))
    request.API_VERSION = 9
    assert request.decode_answer(memoryview(metadata([1]).encode(version=9))) is None


def test_partitions_are_asked_for_topic_by_topic() -> None:
    rows = pl.DataFrame({"topic": ["b", "a", "b"], "partition": [1, 0, 0]})
    rows = rows.with_columns(pl.col("partition").cast(pl.Int32()))
    assert list(AskedPartitions.of(rows).by_topic()) == [("a", [0]), ("b", [1, 0])]
    assert list(AskedPartitions.of(rows.clear()).by_topic()) == []


@pytest.mark.parametrize("version", [1, 4, 5, 6, 7])
@pytest.mark.parametrize("time", [-1, -2])
def test_a_request_is_what_kafka_python_sends(version: int, time: int) -> None:
    ours = OffsetsRequest.of(ASKED, time, isolation_level=1, replica_id=-2)
    theirs = list_offsets_request(
        {name: [(number, time) for number in numbers] for name, numbers in WANTED},
        isolation_level=1,
        replica_id=-2,
    )
    sent = []
    for request in (ours, theirs):
        request.API_VERSION = version
        request.with_header(correlation_id=9, client_id="headroom")
        sent.append(bytes(request.encode(header=True, framed=True)))
    assert sent[0] == sent[1]
