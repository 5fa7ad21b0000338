"""How fast the log of commits is read, end to end from a broker.

The commits are real ones: groups without members commit all partitions of their topic, over and
over. The follower then reads them from the start, on one thread and without the rest between two
fetches that spares the polls.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka.protocol.consumer import OffsetCommitRequest
from kafka.protocol.metadata import FindCoordinatorRequest
from rich.console import Console

from bench.support.figures import Figure, as_json, print_figures
from collectors.kafka.cluster.metadata import Metadata, read_metadata
from collectors.kafka.commit_log.follower import CommitLog
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.connection import Connection
from collectors.kafka.protocol.properties import Security
from demo.kafka.cluster import KafkaCluster

PARTITIONS_A_TOPIC = 15
GOAL_PER_SECOND = 150_000
_TOPICS = 20
_CONNECTIONS = 2
_PIPELINED = 100
_HEAP_MB = 1024
_SECONDS = 120.0
_CLIENT = "bench"


def measure(groups: int = 10_000, rounds: int = 7, runs: int = 5) -> list[Figure]:
    """Write commits, and read them several times."""
    with _broker() as cluster:
        writing = time.monotonic()
        written = _write(cluster.bootstrap_servers, groups, rounds)
        writing = time.monotonic() - writing
        readings = [_read(cluster.bootstrap_servers, written) for _ in range(runs)]
    keys = groups * PARTITIONS_A_TOPIC
    name = f"commits read, {keys:,} group partitions"
    return [
        Figure("commits written", written, "commits"),
        Figure("commits written a second", written / writing, "1/s"),
        Figure(
            f"{name}, median of {runs}",
            statistics.median(written / seconds for seconds, _, _, _ in readings),
            "1/s",
            least=GOAL_PER_SECOND,
        ),
        Figure(f"{name}, slowest", min(written / reading[0] for reading in readings), "1/s"),
        Figure(
            "processor time for a million commits",
            statistics.median(reading[1] for reading in readings) / written * 1e6,
            "s",
        ),
        Figure(
            f"last commits of {keys:,} group partitions, first time",
            statistics.median(reading[2] for reading in readings) * 1000,
            "ms",
        ),
        Figure(
            f"last commits of {keys:,} group partitions",
            statistics.median(reading[3] for reading in readings) * 1000,
            "ms",
            most=50,
        ),
    ]


def main() -> None:
    """Print the figures as a table and as JSON."""
    figures = measure()
    print_figures(Console(), figures)
    print(as_json(figures))


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
    host, port = servers.split(",")[0].rsplit(":", 1)
    connection = Connection("broker", host, int(port), Security(), _CLIENT)
    try:
        _await_coordinator(connection)
        for turn in range(rounds):
            for start in range(0, len(groups), _PIPELINED):
                requests = [_commit(group, turn) for group in groups[start : start + _PIPELINED]]
                for answer in connection.exchange(requests, time.monotonic() + _SECONDS):
                    if errors := _errors(answer):
                        raise RuntimeError(f"a commit failed with {errors}")
    finally:
        connection.close()
    return len(groups) * rounds * PARTITIONS_A_TOPIC


def _await_coordinator(connection: Connection) -> None:
    """Wait for ``__consumer_offsets``: the look for the first group's coordinator makes it."""
    until = time.monotonic() + _SECONDS
    names = [_group(number) for number in range(100)]
    while time.monotonic() < until:
        find = FindCoordinatorRequest(key_type=0, coordinator_keys=names, min_version=4)
        (found,) = connection.exchange([find], until)
        if not any(item.error_code for item in found.coordinators):
            answers = connection.exchange([_commit(group, 0) for group in range(100)], until)
            if not any(_errors(answer) for answer in answers):
                return
        time.sleep(0.1)
    raise RuntimeError("the broker did not become a coordinator in time")


def _commit(group: int, turn: int) -> Any:
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    return OffsetCommitRequest(
        group_id=_group(group),
        generation_id_or_member_epoch=-1,
        member_id="",
        group_instance_id=None,
        topics=[
            topic(
                name=_topic(group % _TOPICS),
                partitions=[
                    topic.OffsetCommitRequestPartition(
                        partition_index=partition,
                        committed_offset=turn,
                        committed_leader_epoch=-1,
                        committed_metadata="",
                    )
                    for partition in range(PARTITIONS_A_TOPIC)
                ],
            )
        ],
        min_version=7,
        max_version=8,
    )


def _errors(answer: Any) -> set[int]:
    return {
        partition.error_code
        for topic in answer.topics
        for partition in topic.partitions
        if partition.error_code
    }


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
        read = commits.state.records["offset commits"]
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
    return Wire(servers, Security(), _CLIENT)


if __name__ == "__main__":
    main()
