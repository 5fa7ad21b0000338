"""How fast the log of commits is read, end to end from a broker.

The commits are real ones: groups without members commit all partitions of their topic, over and
over. The follower then reads them from the start, on one thread and without the rest between two
fetches that spares the polls.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.support.figures import Figure
from bench.support.kafka_groups import (
    CLIENT,
    PARTITIONS_A_TOPIC,
    ask,
    await_coordinators,
    commit_request,
    connect,
)
from collectors.kafka.cluster.metadata import Metadata, read_metadata
from collectors.kafka.commit_log.follower import CommitLog
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.properties import ConnectionSettings
from demo.kafka.cluster import KafkaCluster

GOAL_PER_SECOND = 150_000
_GROUPS, _ROUNDS, _RUNS = 10_000, 7, 5
_TOPICS = 20
_CONNECTIONS = 2
_PIPELINED = 100
_HEAP_MB = 1024
_SECONDS = 120.0


def measure(on_progress: Callable[[str], None]) -> list[Figure]:
    """Write commits, and read them several times."""
    on_progress("writing a million commits and reading them five times")
    groups, rounds, runs = _GROUPS, _ROUNDS, _RUNS
    with _broker() as cluster:
        await_coordinators(cluster.bootstrap_servers, [_group(number) for number in range(groups)])
        writing = time.monotonic()
        written = _write(cluster.bootstrap_servers, groups, rounds)
        writing = time.monotonic() - writing
        readings = [_read(cluster.bootstrap_servers, written) for _ in range(runs)]
    keys = groups * PARTITIONS_A_TOPIC
    name = f"commits read, {keys:,} group partitions"
    return [
        Figure(name="commits written", value=written, unit="commits"),
        Figure(name="commits written a second", value=written / writing, unit="1/s"),
        Figure(
            name=f"{name}, median of {runs}",
            value=statistics.median(written / seconds for seconds, _, _, _ in readings),
            unit="1/s",
            least=GOAL_PER_SECOND,
        ),
        Figure(
            name=f"{name}, slowest",
            value=min(written / reading[0] for reading in readings),
            unit="1/s",
        ),
        Figure(
            name="processor time for a million commits",
            value=statistics.median(reading[1] for reading in readings) / written * 1e6,
            unit="s",
        ),
        Figure(
            name=f"last commits of {keys:,} group partitions, first time",
            value=statistics.median(reading[2] for reading in readings) * 1000,
            unit="ms",
        ),
        Figure(
            name=f"last commits of {keys:,} group partitions",
            value=statistics.median(reading[3] for reading in readings) * 1000,
            unit="ms",
            most=50,
        ),
    ]


@contextmanager
def _broker() -> Iterator[KafkaCluster]:
    with TemporaryDirectory(prefix="headroom-bench-") as folder:
        cluster = KafkaCluster(
            Path(folder),
            brokers=1,
            heap_mb=_HEAP_MB,
            properties={"offsets.topic.segment.bytes": str(2**30)},
        )
        with cluster:
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
            topics = [NewTopic(_topic(number), PARTITIONS_A_TOPIC, 1) for number in range(_TOPICS)]
            for made in admin.create_topics(topics).values():
                made.result(_SECONDS)
            yield cluster


def _write(servers: str, groups: int, rounds: int) -> int:
    """Commit with every group in turn, and return how many commits there are."""
    numbers = [range(first, groups, _CONNECTIONS) for first in range(_CONNECTIONS)]
    with ThreadPoolExecutor(_CONNECTIONS) as workers:
        done = workers.map(lambda part: _write_some(servers, part, rounds), numbers)
        return sum(done)


def _write_some(servers: str, groups: Sequence[int], rounds: int) -> int:
    connection = connect(servers)
    try:
        for turn in range(rounds):
            for start in range(0, len(groups), _PIPELINED):
                chunk = groups[start : start + _PIPELINED]
                requests = [
                    commit_request(_group(group), _topic(group % _TOPICS), turn) for group in chunk
                ]
                ask(connection, requests)
    finally:
        connection.close()
    return len(groups) * rounds * PARTITIONS_A_TOPIC


def _group(number: int) -> str:
    return f"payments-consumer-{number:05}"


def _topic(number: int) -> str:
    return f"payments.events.{number:02}"


def _read(servers: str, written: int) -> tuple[float, float, float, float]:
    """Read the whole log.

    Returns:
        Seconds, seconds of processor time, and seconds for the last commits of all keys, the first
        time and again.
    """
    metadata = _metadata(servers)
    gc.collect()
    commits = CommitLog("bench", lambda: _wire(servers), _SECONDS, duty=1.0, pause_seconds=0.005)
    start, processor = time.monotonic(), time.process_time()
    try:
        commits.meet(metadata)
        while not commits.state.caught_up:
            if time.monotonic() - start > _SECONDS:
                raise RuntimeError(f"the log was not read in time: {commits.state}")
            time.sleep(0.005)
        seconds, processor = time.monotonic() - start, time.process_time() - processor
        read = commits.state.commits_read
        # Those that waited for the coordinator come on top.
        if read < written:
            raise RuntimeError(f"{read} of {written} commits were read")
        first, again = (_seconds_of_latest(commits) for _ in range(2))
    finally:
        commits.close()
    return seconds, processor, first, again


def _seconds_of_latest(commits: CommitLog) -> float:
    start = time.perf_counter()
    commits.latest()
    return time.perf_counter() - start


def _metadata(servers: str) -> Metadata:
    wire = _wire(servers)
    try:
        return read_metadata(wire, Deadline(_SECONDS, _SECONDS))
    finally:
        wire.close()


def _wire(servers: str) -> Wire:
    return Wire(servers, ConnectionSettings(), CLIENT)
