"""Polls over networks as they are: slow, throttled, with brokers that hang or cannot be reached."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl
import pytest

from bench.support.certificates import HOST
from bench.support.far_listener import FarListener
from bench.support.network import network
from demo.kafka.cluster import KafkaCluster
from runtime.java import Java
from tests.kafka.collecting import Poll, Poller, polling
from tests.support import Names, eventually, kafka_tool

INTERVAL_SECONDS = 5.0
GROUPS = [f"reader-{number}" for number in range(12)]
USER = "reader=1,of all"  # with what SCRAM has to escape
CONFIG_TOOL = "kafka.admin.ConfigCommand"


@dataclass
class Secured:
    """Three brokers with TLS and SCRAM."""

    cluster: KafkaCluster
    ports: list[int]
    properties: dict[str, Any]
    topic: str

    @property
    def servers(self) -> str:
        return ",".join(f"{HOST}:{port}" for port in self.ports)


@pytest.fixture(scope="module")
def secured(kafka_java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("networks")
    listener = FarListener(folder, brokers=3, user=USER)
    cluster = KafkaCluster(
        folder / "cluster",
        brokers=3,
        heap_mb=96,
        java=kafka_java,
        ports=listener.clients,
        properties=listener.broker_properties,
    )
    cluster.start()
    try:
        listener.make_user(cluster)
        names = Names(cluster)
        topic = names.topic("orders", partitions=6)
        names.produce(topic, 600)
        for group in GROUPS:
            names.commit(group, topic, {0: 1, 1: 2})
        yield Secured(cluster, listener.logins, listener.client_properties, topic)
    finally:
        cluster.close(keep=False)


def whole(poller: Poller) -> Poll | None:
    poll = poller.poll()
    return None if poll.errors else poll


def on_time(poll: Poll, without: int | None = None) -> None:
    """Expect all groups, with their lag but for those that a broker coordinates or leads."""
    assert poll.duration_seconds < INTERVAL_SECONDS
    rows = {row["group"]: row for row in poll.table("groups").to_dicts()}
    assert set(rows) >= set(GROUPS)
    for group in GROUPS:
        if rows[group]["state"] == "unknown":
            reason = rows[group]["unknown_reason"]
            assert without is not None, reason
            # Once a broker is down for good, its groups wait for another one to coordinate them.
            assert f"broker {without} " in reason or "coordinator is not available" in reason
            continue
        offsets = poll.table("group_offsets").filter(pl.col("group") == group)
        assert set(offsets["committed"]) == {1, 2}


def brokers(cluster: KafkaCluster) -> set[int]:
    return set(cluster.admin().list_topics(timeout=5).brokers)


def back_within_two_polls(poller: Poller, victim: int) -> None:
    first = time.monotonic()
    on_time(poller.poll(), without=victim)
    # As the service does it: the next poll begins when the interval is over.
    time.sleep(max(0.0, first + INTERVAL_SECONDS - time.monotonic()))
    poll = poller.poll()
    on_time(poll)
    # The log of commits is read by connections of its own, and may have tried a moment too early.
    assert poll.errors.keys() <= {"commit_log"}


@pytest.mark.parametrize("round_trip_ms", [50, 150, 300])
def test_a_slow_broker_is_read_with_tls_and_scram(secured: Secured, round_trip_ms: int) -> None:
    """It hangs and comes back; meanwhile the other brokers' groups are known at each poll."""
    with network() as slow:
        paths = [slow.path(port) for port in secured.ports]
        victim = 2
        paths[victim - 1].round_trip_seconds = round_trip_ms / 1000
        with polling(
            secured.servers, interval_seconds=INTERVAL_SECONDS, properties=secured.properties
        ) as poller:
            eventually(lambda: whole(poller), what="poll without errors")
            on_time(poller.poll())
            opened = paths[victim - 1].connections

            paths[victim - 1].freeze()
            unknown = 0
            for _ in range(3):
                poll = poller.poll()
                on_time(poll, without=victim)
                unknown += "unknown" in set(poll.table("groups")["state"])
            assert unknown == 3
            paths[victim - 1].thaw()
            back_within_two_polls(poller, victim)
            # The time-out of a poll closed nothing.
            assert paths[victim - 1].connections == opened


def test_a_slow_broker_that_cannot_be_reached_for_a_while_is_back(secured: Secured) -> None:
    with network() as slow:
        paths = [slow.path(port) for port in secured.ports]
        for path in paths:
            path.round_trip_seconds = 0.15
        with polling(
            secured.servers, interval_seconds=INTERVAL_SECONDS, properties=secured.properties
        ) as poller:
            eventually(lambda: whole(poller), what="poll without errors")
            paths[0].cut()
            for _ in range(3):
                on_time(poller.poll(), without=1)
            paths[0].mend()
            back_within_two_polls(poller, 1)


def test_a_broker_that_is_killed_costs_no_other_and_is_back(secured: Secured) -> None:
    victim = 3
    with polling(
        secured.servers, interval_seconds=INTERVAL_SECONDS, properties=secured.properties
    ) as poller:
        eventually(lambda: whole(poller), what="poll without errors")
        secured.cluster.kill(victim)
        try:
            for _ in range(3):
                on_time(poller.poll(), without=victim)
            # Until then its restart would seem to be over at once.
            eventually(lambda: victim not in brokers(secured.cluster), what="end of its session")
            on_time(poller.poll(), without=victim)
        finally:
            secured.cluster.restart(victim)
        back_within_two_polls(poller, victim)


def test_a_bootstrap_name_whose_first_address_is_dead(secured: Secured) -> None:
    with network() as half_dead:
        half_dead.dead_first.add("kafka.test")
        port = secured.cluster.port(1)
        with polling(f"kafka.test:{port}", interval_seconds=INTERVAL_SECONDS) as poller:
            poll = poller.poll()
            assert poll.errors == {}
            on_time(poll)


def test_a_throttled_principal_is_told_and_waited_for(secured: Secured) -> None:
    entity = ("--entity-type", "users", "--entity-name", USER)

    def alter(*change: str) -> None:
        answer = kafka_tool(secured.cluster, CONFIG_TOOL, "--alter", *change, *entity)
        assert answer.returncode == 0, answer.stderr

    with network() as counted:
        paths = [counted.path(port) for port in secured.ports]
        with polling(
            secured.servers,
            interval_seconds=INTERVAL_SECONDS,
            properties=secured.properties,
            commit_log=False,
        ) as poller:

            def throttled() -> bool:
                poll = poller.poll()
                if "brokers" not in poll.results["brokers"].frames:
                    return False
                seconds = poll.table("brokers")["throttled_seconds"].fill_null(0.0).to_list()
                told = [error for error in poll.errors.values() if "quota is used up" in error]
                return max(seconds) > 0 and bool(told)

            eventually(lambda: whole(poller), what="poll without errors")
            alter("--add-config", "request_percentage=0.01")
            try:
                eventually(throttled, timeout_seconds=60, what="poll that is throttled")
            finally:
                alter("--delete-config", "request_percentage")
            eventually(lambda: whole(poller), timeout_seconds=60, what="poll without errors")
            # One for what goes to the controller, and no other that would evade the pause.
            assert all(path.connections <= 2 for path in paths)
