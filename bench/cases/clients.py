"""What librdkafka's public calls cost beside the collectors' own requests, read by read.

docs/sources.md decides by these figures, and by what the calls do while a broker is silent.
"""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from confluent_kafka import Consumer, TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its exports are not declared
    AdminClient,
    ConfigResource,
    OffsetSpec,
)
from confluent_kafka.cimpl import NewTopic

from bench.support.figures import Figure
from bench.support.kafka_groups import PARTITIONS_A_TOPIC
from collectors.kafka.cluster.metadata import CONFIGS_A_REQUEST, read_metadata, read_topic_configs
from collectors.kafka.cluster.offsets import read_offsets
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.properties import ConnectionSettings
from demo.kafka.cluster import KafkaCluster
from runtime.processes import wait_until

_HEAP_MB = 512
_TOPICS_A_REQUEST = 50
_SECONDS = 300.0
_PARTITIONS_A_CALL = 500
"""Of a longer list every partition is looked for among all others, which takes its square."""

_silent = logging.getLogger("bench.librdkafka")
_silent.addHandler(logging.NullHandler())
_silent.propagate = False


def measure(topics: int, rounds: int, on_progress: Callable[[str], None]) -> list[Figure]:
    """Read one broker by both clients in turn."""
    names = [f"bench-{number:04}" for number in range(topics)]
    with (
        TemporaryDirectory(prefix="headroom-bench-") as folder,
        KafkaCluster(Path(folder), brokers=1, heap_mb=_HEAP_MB) as cluster,
    ):
        on_progress(f"making {topics:,} topics")
        servers = cluster.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": servers}, logger=_silent)
        for start in range(0, topics, _TOPICS_A_REQUEST):
            part = names[start : start + _TOPICS_A_REQUEST]
            made = admin.create_topics([NewTopic(name, PARTITIONS_A_TOPIC, 1) for name in part])
            _results(made)
        wire = Wire(servers, ConnectionSettings(), "bench")
        try:
            wait_until(
                lambda: _is_ready(wire, topics),
                timeout_seconds=_SECONDS,
                waiting_for="leaders of all partitions",
                children=(),
            )
            partitions = read_metadata(wire, _deadline()).partitions
            on_progress("reading")
            reads = {**_own(wire, names, partitions), **_librdkafka(servers, admin, names)}
            for read in reads.values():  # connections and caches
                read()
            taken = {name: [_timed(read) for _ in range(rounds)] for name, read in reads.items()}
        finally:
            wire.close()
    size = f"{topics:,} topics x {PARTITIONS_A_TOPIC}"
    return [
        Figure(name=f"{name}, {size}{suffix}", value=1000 * statistics.median(values), unit="ms")
        for name, timings in taken.items()
        for suffix, values in zip(("", ", processor"), zip(*timings, strict=True), strict=True)
    ]


def _own(
    wire: Wire, names: Sequence[str], partitions: pl.DataFrame
) -> dict[str, Callable[[], object]]:
    (broker,) = partitions["leader"].unique()

    def configs() -> None:
        for start in range(0, len(names), CONFIGS_A_REQUEST):
            asked = {broker: names[start : start + CONFIGS_A_REQUEST]}
            read_topic_configs(wire, asked, _deadline(), {})

    return {
        "own: metadata with ids": lambda: read_metadata(wire, _deadline()),
        "own: start, end, stable": lambda: _unknown(wire, partitions),
        "own: topic configurations": configs,
    }


def _librdkafka(
    servers: str, admin: AdminClient, names: Sequence[str]
) -> dict[str, Callable[[], object]]:
    consumers = {
        level: Consumer(
            {"bootstrap.servers": servers, "group.id": "bench", "isolation.level": level},
            logger=_silent,
        )
        for level in ("read_uncommitted", "read_committed")
    }
    pool = ThreadPoolExecutor(3)
    latest: Any = OffsetSpec.latest()  # type: ignore[no-untyped-call]

    def partitions(time: int) -> list[TopicPartition]:
        return [
            TopicPartition(name, partition, time)
            for name in names
            for partition in range(PARTITIONS_A_TOPIC)
        ]

    def by_consumer(level: str, time: int) -> None:
        wanted = partitions(time)
        for start in range(0, len(wanted), _PARTITIONS_A_CALL):
            part = wanted[start : start + _PARTITIONS_A_CALL]
            consumers[level].offsets_for_times(part, timeout=_SECONDS)

    def by_consumers() -> None:
        kinds = [("read_uncommitted", -2), ("read_uncommitted", -1), ("read_committed", -1)]
        list(pool.map(lambda kind: by_consumer(*kind), kinds))

    def configs() -> None:
        for start in range(0, len(names), CONFIGS_A_REQUEST):
            part = names[start : start + CONFIGS_A_REQUEST]
            _results(admin.describe_configs([ConfigResource("topic", name) for name in part]))

    return {
        "librdkafka: list_topics": lambda: admin.list_topics(timeout=_SECONDS),
        "librdkafka: describe_topics": lambda: _results(
            admin.describe_topics(TopicCollection(list(names)))
        ),
        "librdkafka: start, end, stable by offsets_for_times": by_consumers,
        "librdkafka: the end alone by list_offsets": lambda: _results(
            admin.list_offsets(dict.fromkeys(partitions(-1), latest))
        ),
        "librdkafka: topic configurations": configs,
    }


def _is_ready(wire: Wire, topics: int) -> bool:
    partitions = read_metadata(wire, _deadline()).partitions
    return partitions["topic"].n_unique() == topics and not _unknown(wire, partitions)


def _unknown(wire: Wire, partitions: pl.DataFrame) -> int:
    return read_offsets(wire, partitions, _deadline())["log_end"].null_count()


def _results(futures: Mapping[Any, Future[Any]]) -> None:
    for future in futures.values():
        future.result(_SECONDS)


def _deadline() -> Deadline:
    return Deadline(_SECONDS, _SECONDS)


def _timed(read: Callable[[], object]) -> tuple[float, float]:
    clock, processor = time.perf_counter(), time.process_time()
    read()
    return time.perf_counter() - clock, time.process_time() - processor
