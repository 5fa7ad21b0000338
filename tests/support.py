"""Helpers that tests of several folders share."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from deltalake import DeltaTable

from config.storage import RetentionSettings
from demo.kafka.cluster import KafkaCluster
from lake.schemas.model import Table
from lake.storage.store import Lake
from lake.storage.table_maintenance import maintain_table
from runtime.processes import Child

T = TypeVar("T")

# Errors of a cluster that is sharing out its groups: just started, or a coordinator moves.
COORDINATOR_MOVES = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError._WAIT_COORD,  # noqa: SLF001 (librdkafka names its own codes so)
}


FOR_EVER = RetentionSettings(raw_days=None, minute_days=None, hour_days=None)


def compact(lake: Lake, table: Table) -> None:
    """Put the small files of a table together, and delete nothing of it."""
    assert maintain_table(table, lake.uri(table), lake.options, FOR_EVER) is not None


def double(lake: Lake, table: Table) -> None:
    """Store every row of a table twice, as two compactions at once do without a fence."""
    handles = [DeltaTable(lake.uri(table)) for _ in range(2)]
    for handle in handles:
        handle.optimize.compact()
    rows = DeltaTable(lake.uri(table)).count()
    assert rows == 2 * handles[0].count()


def in_ci() -> bool:
    """Say whether the tests run in CI, where nothing may be left out."""
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


def unavailable(reason: str) -> NoReturn:
    """Leave a test out because something is missing on this machine; in CI, fail it."""
    if in_ci():
        pytest.fail(f"in CI nothing may be left out: {reason}", pytrace=False)
    pytest.skip(reason)


def eventually(
    ask: Callable[[], T | None],
    *,
    timeout_seconds: float = 30.0,
    what: str | Callable[[], str] = "an answer",
) -> T:
    """Ask until there is a truthy answer, and return it; fail at the deadline.

    Args:
        ask: The question; asked often at first, and later five times a second.
        timeout_seconds: The deadline.
        what: What is missing, for the failure; a function says it when that is known.
    """
    deadline = time.monotonic() + timeout_seconds
    pause = 0.02
    while True:
        answer = ask()
        if answer:
            return answer
        if time.monotonic() > deadline:
            missing = what if isinstance(what, str) else what()
            pytest.fail(f"no {missing} after {timeout_seconds:.0f} s; last answer: {answer!r}")
        time.sleep(pause)
        pause = min(0.2, pause * 1.5)


@dataclass
class Names:
    """Uniquely named topics and groups on a cluster, deleted after the test."""

    cluster: KafkaCluster
    _topics: list[str] = field(default_factory=list)
    _groups: list[str] = field(default_factory=list)

    @property
    def admin(self) -> AdminClient:
        """Admin client of the cluster."""
        return self.cluster.admin()

    def topic(
        self,
        base: str = "topic",
        *,
        partitions: int = 3,
        replication_factor: int | None = None,
        config: Mapping[str, str] | None = None,
    ) -> str:
        """Create a topic and return its name once every partition has a leader."""
        name = f"{base}.{uuid.uuid4().hex[:8]}"
        replicas = replication_factor or min(3, len(self.cluster.running))
        new = NewTopic(name, partitions, replicas, config=dict(config or {}))
        self.admin.create_topics([new])[name].result(timeout=20)
        self._topics.append(name)

        def led() -> bool:
            found = self.admin.list_topics(timeout=5).topics.get(name)
            return (
                found is not None
                and len(found.partitions) == partitions
                and all(each.leader >= 0 for each in found.partitions.values())
            )

        eventually(led, what=f"leaders of {name}")
        return name

    def leader(self, topic: str, partition: int = 0) -> int:
        """Return the leader of a partition; a broker may hear of a new topic later than another."""

        def told() -> list[int]:
            partitions = self.admin.list_topics(topic, timeout=5).topics[topic].partitions
            found = partitions.get(partition)
            return [found.leader] if found is not None and found.leader >= 0 else []

        (leader,) = eventually(told, what=f"leader of {topic}")
        return leader

    def group(self, base: str = "group") -> str:
        """Return a new group name; the group is deleted after the test where it is empty."""
        name = f"{base}-{uuid.uuid4().hex[:8]}"
        self._groups.append(name)
        return name

    def produce(self, topic: str, count: int, partition: int | None = None) -> None:
        """Produce small records and wait until all are acknowledged."""
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap_servers, "acks": "all"})
        failures: list[str] = []

        def delivered(error: object, _: object) -> None:
            if error is not None:
                failures.append(str(error))

        place = {} if partition is None else {"partition": partition}
        for number in range(count):
            producer.produce(
                topic, value=f"record {number}", key=str(number), on_delivery=delivered, **place
            )
            producer.poll(0)
        left = producer.flush(60)
        assert left == 0, f"{left} records of {topic} were not acknowledged"
        assert not failures, failures[0]

    def commit(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """Commit offsets for a group without joining it."""
        consumer = Consumer(
            {"bootstrap.servers": self.cluster.bootstrap_servers, "group.id": group}
        )
        wanted = [TopicPartition(topic, number, at) for number, at in offsets.items()]

        def committed() -> bool:
            try:
                consumer.commit(offsets=wanted, asynchronous=False)
            except KafkaException as error:
                if error.args[0].code() not in COORDINATOR_MOVES:
                    raise
                return False
            return True

        try:
            eventually(committed, what=f"commit of {group}")
        finally:
            consumer.close()

    def delete(self) -> None:
        """Delete what was made; what a test deleted itself is no error."""
        if self._groups:
            for future in self.admin.delete_consumer_groups(self._groups).values():
                _ignore_failure(future.result)
        if self._topics:
            for future in self.admin.delete_topics(self._topics).values():
                _ignore_failure(future.result)


def _ignore_failure(result: Callable[[], object]) -> None:
    try:
        result()
    except KafkaException:
        return


def kafka_tool(
    cluster: KafkaCluster, main_class: str, *arguments: str, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run one of Kafka's own command-line tools against a cluster."""
    given = list(arguments)
    if "--bootstrap-server" not in given:
        given = ["--bootstrap-server", cluster.bootstrap_servers, *given]
    return subprocess.run(
        cluster.java_command(96, main_class, *given),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def wait_until_in_sync(cluster: KafkaCluster) -> None:
    """Wait until every partition has a leader and all its replicas in sync."""

    def in_sync() -> bool:
        try:
            topics = cluster.admin().list_topics(timeout=3).topics.values()
        except KafkaException:
            return False
        return all(
            partition.leader >= 0 and set(partition.isrs) == set(partition.replicas)
            for topic in topics
            for partition in topic.partitions.values()
        )

    eventually(in_sync, timeout_seconds=60, what="full set of in-sync replicas")


def freeze(child: Child) -> None:
    """Stop a process and its group, so that its connections stay open and nothing answers.

    A busy machine stops threads some time after the signal: until then they still answer.
    """
    child.signal(signal.SIGSTOP)
    eventually(lambda: not _has_running_threads(child.pid), what="threads that have stopped")


def _has_running_threads(group: int) -> bool:
    """Return whether a thread of a process group is neither stopped nor gone."""
    listed = subprocess.run(
        ["ps", "-eLo", "pgid=,stat="], capture_output=True, text=True, check=True
    )
    threads = map(str.split, listed.stdout.splitlines())
    return any(int(pgid) == group and state[0] not in "TZX" for pgid, state in threads)
