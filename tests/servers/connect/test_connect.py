"""Kafka Connect and MirrorMaker 2 as they really are: one broker, one worker, real connectors."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from collectors.connect.client import ConnectClient
from collectors.connect.source import connect_sources
from collectors.kafka.source import KafkaSource
from collectors.source.http_source import HttpSource
from collectors.source.model import SectionResult
from collectors.source.shared_facts import SharedFacts
from config.integrations import ConnectSettings
from config.settings import Settings
from demo.kafka.cluster import KafkaCluster
from runtime.java import Java
from tests.servers.connect.server import RunningConnect, running_connect
from tests.support import eventually, freeze

pytestmark = pytest.mark.kafka

RECORDS, BAD_RECORDS = 40, 4
# A name that announces nothing: only Connect's configuration tells what it is.
REJECTED = "orders.rejected"
SECRET = "hunter2secret"  # noqa: S105  made up
CLUSTER = "here"


@dataclass
class World:
    """A broker, a worker with connectors, and the sources that watch both."""

    cluster: KafkaCluster
    connect: RunningConnect
    kafka: KafkaSource
    source: HttpSource[ConnectClient, ConnectSettings]

    def poll(self) -> dict[str, SectionResult]:
        return {result.section: result for result in self.source.poll(datetime.now(UTC))}

    def connector(self, name: str) -> dict[str, Any]:
        (row,) = self._rows("connectors", "connectors", name)
        return row

    def tasks(self, name: str) -> list[dict[str, Any]]:
        return self._rows("connectors", "connector_tasks", name)

    def mirrored(self, name: str) -> dict[tuple[str, int], dict[str, Any]]:
        """Return a mirror's rows by topic and partition, after a poll of the brokers."""
        for _ in self.kafka.poll(datetime.now(UTC)):
            pass
        rows = self._rows("mirrors", "mirror_offsets", name)
        return {(row["topic"], row["partition"]): row for row in rows}

    def _rows(self, section: str, table: str, name: str) -> list[dict[str, Any]]:
        result = self.poll()[section]
        assert table in result.frames, result.error
        return result.frames[table].filter(pl.col("connector") == name).to_dicts()

    def produce(self, topic: str, values: list[bytes], partition: int = 0) -> None:
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap_servers})
        for value in values:
            producer.produce(topic, value, partition=partition)
        assert producer.flush(20) == 0


@pytest.fixture(scope="module")
def world(kafka_java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("connect")
    with (
        KafkaCluster(folder / "kafka", 1, 96, java=kafka_java) as cluster,
        running_connect(cluster, kafka_java, folder) as connect,
    ):
        topics = [NewTopic(name, 2, 1) for name in ("orders", "poison", "ledger", "quiet")]
        for future in cluster.admin().create_topics(topics).values():
            future.result(20)
        shared = SharedFacts()
        settings = Settings.model_validate(
            {
                "clusters": [{"name": CLUSTER, "bootstrap_servers": cluster.bootstrap_servers}],
                "connect": [
                    {
                        "name": "main",
                        "url": connect.worker.url,
                        "mirrors": {"east": CLUSTER},
                        "request_timeout_seconds": 2,
                        "poll_interval_seconds": 5,
                    }
                ],
            }
        )
        kafka = KafkaSource(settings.clusters[0], 5.0, shared)
        (source,) = connect_sources(settings, shared)
        made = World(cluster, connect, kafka, source)
        good = [b'{"number": %d}' % number for number in range(RECORDS - BAD_RECORDS)]
        made.produce("orders", [*good, *[b"no JSON"] * BAD_RECORDS])
        made.produce("poison", [b"no JSON"])
        made.produce("ledger", good)
        _create_connectors(made, folder)
        try:
            yield made
        finally:
            kafka.close()
            source.close()


def _create_connectors(world: World, folder: Path) -> None:
    """Create one connector of each kind, and wait until each is in its state."""
    connect = world.connect
    connect.sink(
        "orders-file",
        "orders",
        folder / "orders.txt",
        tasks__max="2",
        errors__tolerance="all",
        errors__deadletterqueue__topic__name=REJECTED,
        errors__deadletterqueue__topic__replication__factor="1",
        errors__deadletterqueue__context__headers__enable="true",
    )
    connect.sink("poisoned", "poison", folder / "poison.txt")
    connect.sink(
        "nowhere", "quiet", folder / SECRET / "x.txt", tasks__max="2", database__password=SECRET
    )
    connect.sink("paused", "quiet", folder / "paused.txt", consumer__override__group__id="mine")
    connect.sink("stopped", "quiet", folder / "stopped.txt")
    connect.mirror("mirror", world.cluster, "east", "ledger")
    connect.mirror("mirror-of-nothing", world.cluster, "east", "no-such-topic")
    states = {
        "orders-file": ("RUNNING", ["RUNNING"] * 2),
        "poisoned": ("RUNNING", ["FAILED"]),
        "nowhere": ("RUNNING", ["FAILED"] * 2),
        "mirror": ("RUNNING", ["RUNNING"] * 2),
        "mirror-of-nothing": ("RUNNING", []),
    }
    for name, (state, tasks) in states.items():
        eventually(lambda n=name, s=state, t=tasks: connect.is_in(n, s, t), what=f"state of {name}")
    connect.worker.ask("PUT", "/connectors/paused/pause")
    connect.worker.ask("PUT", "/connectors/stopped/stop")
    eventually(lambda: connect.is_in("paused", "PAUSED", ["PAUSED"]), what="pause")
    eventually(lambda: connect.is_in("stopped", "STOPPED", []), what="stop")


def dead_letters(world: World) -> list[dict[str, str]]:
    """Return the headers of the records in the sink's dead-letter topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": world.cluster.bootstrap_servers,
            "group.id": "reader",
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(REJECTED, 0, 0)])
    found: list[dict[str, str]] = []

    def arrived() -> bool:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            found.append({name: value.decode() for name, value in message.headers() or []})
        return len(found) == BAD_RECORDS

    try:
        eventually(arrived, what="dead letters")
    finally:
        consumer.close()
    return found


def test_a_running_sink_with_a_dead_letter_queue(world: World) -> None:
    row = world.connector("orders-file")
    assert (row["state"], row["type"], row["kind"]) == ("RUNNING", "sink", "plain")
    assert (row["tasks_expected"], row["tasks"], row["tasks_running"], row["tasks_failed"]) == (
        2,
        2,
        2,
        0,
    )
    assert (row["dead_letter_topic"], row["dead_letter_headers"]) == (REJECTED, True)
    assert (row["errors_tolerance"], row["group"]) == ("all", "connect-orders-file")
    assert row["class_name"].endswith("FileStreamSinkConnector")
    assert row["worker"] == world.connect.worker.url.removeprefix("http://")
    assert [task["state"] for task in world.tasks("orders-file")] == ["RUNNING", "RUNNING"]


def test_its_dead_letters_are_there_with_headers(world: World) -> None:
    for headers in dead_letters(world):
        assert headers["__connect.errors.connector.name"] == "orders-file"
        assert headers["__connect.errors.topic"] == "orders"
        assert headers["__connect.errors.exception.class.name"].endswith("DataException")


def test_the_sinks_group_is_the_one_that_reads(world: World) -> None:
    def groups() -> set[str]:
        listed = world.cluster.admin().list_consumer_groups(request_timeout=5).result(10)
        return {each.group_id for each in listed.valid}

    assert world.connector("orders-file")["group"] in groups()
    assert world.connector("paused")["group"] == "mine"
    assert "mine" in groups()


def test_the_brokers_source_learns_of_the_dead_letter_topic(world: World) -> None:
    """Given a topic whose name announces nothing, when Connect was polled, then it is found."""
    world.poll()
    results = {result.section: result for result in world.kafka.poll(datetime.now(UTC))}
    found = {row["name"]: row for row in results["dead_letters"].frames["dead_letters"].to_dicts()}
    assert REJECTED in found
    assert found[REJECTED]["found_by"] == "connect config"
    assert found[REJECTED]["retained"] == BAD_RECORDS


def test_a_task_that_failed_on_a_record_tells_why(world: World) -> None:
    row = world.connector("poisoned")
    assert (row["state"], row["tasks"], row["tasks_running"], row["tasks_failed"]) == (
        "RUNNING",
        1,
        0,
        1,
    )
    (task,) = world.tasks("poisoned")
    assert task["state"] == "FAILED"
    assert task["error_class"] == "org.apache.kafka.connect.errors.ConnectException"
    assert task["cause_class"] == "com.fasterxml.jackson.core.JsonParseException"
    assert "Tolerance exceeded in error handler" in task["error"]
    assert "\n" not in task["error"]


def test_a_secret_in_a_trace_is_left_out(world: World) -> None:
    tasks = world.tasks("nowhere")
    assert [task["state"] for task in tasks] == ["FAILED", "FAILED"]
    assert "Couldn't find or create file" in tasks[0]["error"]
    assert "***" in tasks[0]["error"]
    for result in world.poll().values():
        assert SECRET not in str(result.error)
        for frame in result.frames.values():
            assert SECRET not in str(frame.to_dicts())


def test_a_connector_without_tasks_runs_and_does_nothing(world: World) -> None:
    row = world.connector("mirror-of-nothing")
    assert (row["state"], row["tasks_expected"], row["tasks"], row["tasks_running"]) == (
        "RUNNING",
        2,
        0,
        0,
    )


@pytest.mark.parametrize(
    ("name", "state", "tasks"),
    [
        pytest.param("paused", "PAUSED", ["PAUSED"], id="paused"),
        pytest.param("stopped", "STOPPED", [], id="stopped"),
    ],
)
def test_who_was_halted_is_no_failure(
    world: World, name: str, state: str, tasks: list[str]
) -> None:
    row = world.connector(name)
    assert (row["state"], row["tasks"], row["tasks_failed"]) == (state, len(tasks), 0)
    assert [task["state"] for task in world.tasks(name)] == tasks


def test_a_mirrors_lag_is_what_it_has_not_copied(world: World) -> None:
    """Given a mirror that has caught up, when it stops and 7 records arrive, then the lag is 7."""
    copied = RECORDS - BAD_RECORDS

    def caught_up() -> bool:
        row = world.mirrored("mirror").get(("ledger", 0))
        return row is not None and row["replicated"] == copied

    eventually(caught_up, timeout_seconds=40, what="copied topic")
    row = world.mirrored("mirror")["ledger", 0]
    assert (row["source_cluster"], row["source_log_end"], row["lag"]) == ("east", copied, 0)
    assert row["unknown_reason"] is None
    _, end = _watermarks(world, "east.ledger")
    assert end == copied, "the copy holds as many records as were counted"

    world.connect.worker.ask("PUT", "/connectors/mirror/stop")
    eventually(lambda: world.connect.is_in("mirror", "STOPPED", []), what="stopped mirror")
    world.produce("ledger", [b"{}"] * 7)
    row = world.mirrored("mirror")["ledger", 0]
    assert (row["replicated"], row["source_log_end"], row["lag"]) == (copied, copied + 7, 7)
    world.connect.worker.ask("PUT", "/connectors/mirror/resume")

    def again() -> bool:
        return bool(world.mirrored("mirror")["ledger", 0]["lag"] == 0)

    eventually(again, timeout_seconds=40, what="mirror without lag")


def _watermarks(world: World, topic: str) -> tuple[int, int]:
    consumer = Consumer({"bootstrap.servers": world.cluster.bootstrap_servers, "group.id": "x"})
    try:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
    finally:
        consumer.close()
    return low, high


def test_a_deleted_connector_is_gone(world: World, tmp_path: Path) -> None:
    world.connect.sink("passing", "quiet", tmp_path / "passing.txt")
    eventually(lambda: world.connect.is_in("passing", "RUNNING", ["RUNNING"]), what="new sink")
    assert world.connector("passing")["state"] == "RUNNING"
    world.connect.worker.ask("DELETE", "/connectors/passing")

    def gone() -> bool:
        result = world.poll()["connectors"]
        assert result.status in ("ok", "partial"), result.error
        return "passing" not in result.frames["connectors"]["connector"]

    eventually(gone, what="list without the deleted connector")
    assert {each.status for each in world.poll().values()} == {"ok"}


def test_the_check(world: World) -> None:
    found = {check.feature: check for check in world.source.check()}
    assert all(check.works for check in found.values()), found
    assert "4.3.1" in found["connection"].detail
    assert "7 connectors" in found["connectors"].detail


def test_a_worker_that_dies_and_comes_back(world: World) -> None:
    """Given polls all the while, when it is killed and started, then each poll tells the truth."""
    world.connect.kill()
    for result in world.poll().values():
        assert result.status == "failed"
        assert "cannot be reached" in str(result.error)
    world.connect.start()
    eventually(
        lambda: world.connect.is_in("orders-file", "RUNNING", ["RUNNING"] * 2), what="running sink"
    )
    assert world.poll()["connectors"].status == "ok"
    assert world.connector("orders-file")["tasks_running"] == 2


def test_a_frozen_worker_costs_the_time_of_a_request(world: World) -> None:
    freeze(world.connect.child)
    try:
        start = datetime.now(UTC)
        results = world.poll()
        assert (datetime.now(UTC) - start).total_seconds() < 5
        assert {each.status for each in results.values()} == {"failed"}
        assert "did not answer within" in str(results["connectors"].error)
    finally:
        world.connect.child.signal(signal.SIGCONT)
    eventually(lambda: world.poll()["connectors"].status == "ok", what="answer after the thaw")
