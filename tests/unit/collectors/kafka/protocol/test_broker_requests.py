from __future__ import annotations

import re
import socket
import threading
import time
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.support.network import network
from collectors.errors import (
    CollectorError,
    NoAnswerError,
    ProtocolError,
    SecurityError,
    ThrottledError,
    UnreachableError,
)
from collectors.kafka.protocol import sockets
from collectors.kafka.protocol.broker_client import BrokerClient
from collectors.kafka.protocol.broker_requests import Broker, Deadline, Wire
from collectors.kafka.protocol.properties import ConnectionSettings
from collectors.kafka.protocol.sockets import SocketOptions
from collectors.kafka.protocol.transport.connection import Connection
from collectors.kafka.protocol.transport.connector import Connector
from collectors.kafka.protocol.transport.throttling import Throttling
from tests.support import eventually
from tests.unit.collectors.kafka.protocol import fakebroker
from tests.unit.collectors.kafka.protocol.fakebroker import (
    METADATA,
    Behaviour,
    ask_metadata,
    fake_broker,
)


class Cluster:
    """A wire to fake brokers, numbered from 0."""

    def __init__(
        self, stack: ExitStack, *behaviours: Behaviour, throttling: Throttling | None = None
    ) -> None:
        self.brokers = [stack.enter_context(fake_broker(each)) for each in behaviours]
        servers = ",".join(f"127.0.0.1:{broker.port}" for broker in self.brokers)
        self.wire = Wire(servers, ConnectionSettings(), "test", throttling)
        stack.callback(self.wire.close)

    def meet(self) -> None:
        self.wire.meet(
            [
                Broker(broker_id=n, host="127.0.0.1", port=broker.port)
                for n, broker in enumerate(self.brokers)
            ]
        )

    def ask_all(self, deadline: Deadline) -> dict[int, bool]:
        """Return who answered."""
        asked = {number: [ask_metadata()] for number in range(len(self.brokers))}
        found = self.wire.each(asked, deadline)
        return {number: not isinstance(result, CollectorError) for number, result in found.items()}


def test_a_silent_broker_delays_one_request_and_is_back_by_itself() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.well, fakebroker.frozen, fakebroker.well)
        cluster.meet()
        expected = {0: True, 1: False, 2: True}

        start = time.monotonic()
        assert cluster.ask_all(Deadline(10, 1.0)) == expected
        assert 0.9 < time.monotonic() - start < 5.0
        assert set(cluster.wire.failures) == {1}

        # Nobody waits for it any more, in this poll or the next ones.
        for _ in range(3):
            asked = cluster.brokers[1].connections
            assert cluster.ask_all(Deadline(10, 60.0)) == expected
            assert cluster.brokers[1].connections == asked
            cluster.wire.begin_poll()
        assert "did not answer in time" in cluster.wire.failures[1]

        # It answers what it was asked before, and that says that it is back.
        cluster.brokers[1].thaw()
        eventually(lambda: not cluster.wire.failures, what="broker that is back")
        assert cluster.ask_all(Deadline(10, 5.0)) == dict.fromkeys(expected, True)
        assert cluster.brokers[1].connections == 1


def test_a_broker_that_refuses_connections_is_tried_again_beside_the_polls() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.well, fakebroker.hangs_up)
        cluster.meet()
        assert cluster.ask_all(Deadline(10, 5.0)) == {0: True, 1: False}
        cluster.brokers[1].behaviour = fakebroker.well
        cluster.wire.begin_poll()
        assert "security.protocol" in cluster.wire.failures[1]
        eventually(lambda: not cluster.wire.failures, what="broker that is back")
        assert cluster.ask_all(Deadline(10, 5.0)) == {0: True, 1: True}


def test_a_broker_that_is_not_reached_is_told_from_one_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sockets, "_STAGGER_SECONDS", 60.0)  # the name has a good address as well
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.silent)
        cluster.meet()
        assert cluster.ask_all(Deadline(10, 0.5)) == {0: False}
        assert "encryption or login is not done" in cluster.wire.failures[0]
        stack.enter_context(network()).dead_first.add("kafka.test")
        settings = ConnectionSettings(sockets=SocketOptions(family=socket.AF_INET))
        wire = Wire(f"kafka.test:{cluster.brokers[0].port}", settings, "test")
        stack.callback(wire.close)
        with pytest.raises(NoAnswerError, match="is being looked up and connected to"):
            wire.any(ask_metadata, Deadline(10, 0.5))


def test_a_connection_that_was_idle_too_long_is_opened_anew() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.one_answer_a_connection)
        cluster.meet()
        for _ in range(3):
            assert cluster.ask_all(Deadline(10, 5.0)) == {0: True}
        assert cluster.brokers[0].connections == 3


def test_an_odd_answer_costs_what_was_asked_and_nothing_else() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.garbage_once)
        cluster.meet()
        asked = {0: [ask_metadata(), ask_metadata()]}  # the second is on its way
        found = cluster.wire.each(asked, Deadline(10, 5.0))
        assert isinstance(found[0], ProtocolError)
        assert "answer not understood" in str(found[0])
        assert cluster.wire.failures == {}
        assert cluster.ask_all(Deadline(10, 5.0)) == {0: True}
        assert cluster.brokers[0].connections == 1


def test_a_connection_that_begins_with_an_odd_answer_is_not_opened_again_and_again() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.garbage_first)
        cluster.meet()
        for _ in range(3):
            assert cluster.ask_all(Deadline(10, 5.0)) == {0: False}
        assert "answer not understood" in cluster.wire.failures[0]
        assert cluster.brokers[0].connections == 1


def test_large_requests_are_not_sent_before_the_answer_to_the_one_before_is_read() -> None:
    """A broker reads nothing while it sends: two that only write would wait for ever."""
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.large_answers)
        cluster.meet()
        requests = [fakebroker.large_request() for _ in range(16)]
        found = cluster.wire.each({0: requests}, Deadline(60, 30.0), lambda answer: None)
        assert not isinstance(found[0], CollectorError), found
        assert len(found[0]) == 16


def test_a_throttled_client_waits_and_says_so() -> None:
    """KIP-219: the answer comes at once, and the broker reads nothing for a while."""
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.throttling(1500))
        cluster.meet()
        assert cluster.ask_all(Deadline(10, 0.5)) == {0: True}
        assert cluster.wire.take_throttled_seconds() == {0: 1.5}
        cluster.wire.begin_poll()
        found = cluster.wire.each({0: [ask_metadata()]}, Deadline(10, 0.5))
        assert isinstance(found[0], ThrottledError)
        assert "quota" in str(found[0])
        cluster.wire.begin_poll()
        assert "quota" in cluster.wire.failures[0]
        eventually(lambda: not cluster.wire.failures, what="end of the pause")
        # No new connection that would evade it, and nothing was sent before its time.
        assert cluster.brokers[0].connections == 1
        assert cluster.brokers[0].early == 0


def test_a_throttle_time_beyond_all_sense_is_bounded() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.throttling(2**31 - 1))
        cluster.meet()
        assert cluster.ask_all(Deadline(10, 0.5)) == {0: True}
        found = cluster.wire.each({0: [ask_metadata()]}, Deadline(10, 0.2))
        assert isinstance(found[0], ThrottledError)
        assert re.search(r"for another (59\.\d|60\.0) s", str(found[0]))
        assert cluster.wire.take_throttled_seconds() == {0: 60.0}


def test_throttling_on_every_connection_counts() -> None:
    with ExitStack() as stack:
        throttling = Throttling()
        cluster = Cluster(stack, fakebroker.throttling_and_gone, throttling=throttling)
        cluster.meet()
        for _ in range(3):
            assert cluster.ask_all(Deadline(10, 5.0)) == {0: True}
        cluster.wire.forwarded(ask_metadata, Deadline(10, 5.0))
        other = Wire(
            f"127.0.0.1:{cluster.brokers[0].port}", ConnectionSettings(), "test", throttling
        )
        stack.callback(other.close)
        other.any(ask_metadata, Deadline(10, 5.0))
        assert cluster.brokers[0].connections == 5
        assert cluster.wire.take_throttled_seconds() == {0: pytest.approx(0.5)}
        assert cluster.wire.take_throttled_seconds() == {0: 0.0}


def test_no_request_outlives_the_poll() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.silent, fakebroker.silent)
        cluster.meet()
        start = time.monotonic()
        assert cluster.ask_all(Deadline(0.3, 30.0)) == {0: False, 1: False}
        assert time.monotonic() - start < 10


def test_any_asks_the_next_one_where_the_first_is_slow() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.silent, fakebroker.well)
        found = cluster.wire.any(ask_metadata, Deadline(60, 30.0))
        assert found.cluster_id == "fake"


def test_any_asks_nobody_else_while_an_answer_is_coming_in() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.trickling, fakebroker.well)
        found = cluster.wire.any(ask_metadata, Deadline(60, 4.0))  # one more after 2 s of silence
        assert found.cluster_id == "fake"
        assert cluster.brokers[1].requests == []


def test_any_goes_on_at_once_where_the_first_fails() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.hangs_up, fakebroker.well)
        start = time.monotonic()
        assert cluster.wire.any(ask_metadata, Deadline(60, 40.0)).cluster_id == "fake"
        assert time.monotonic() - start < 10  # one more would be asked after 20 s of silence


def test_any_fails_with_the_words_that_say_most() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.silent, fakebroker.speaks_http)
        start = time.monotonic()
        with pytest.raises(ProtocolError, match="the right port"):
            cluster.wire.any(ask_metadata, Deadline(60, 1.0))
        assert time.monotonic() - start < 10


def test_a_broker_that_moved_is_asked_at_its_new_place() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.well, fakebroker.well)
        cluster.wire.meet([Broker(broker_id=0, host="127.0.0.1", port=cluster.brokers[0].port)])
        assert cluster.wire.each({0: [ask_metadata()]}, Deadline(5, 2.0))
        cluster.wire.meet([Broker(broker_id=0, host="127.0.0.1", port=cluster.brokers[1].port)])
        cluster.wire.each({0: [ask_metadata()]}, Deadline(5, 2.0))
        assert METADATA in cluster.brokers[1].requests


def test_a_broker_that_is_not_in_the_cluster() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.well)
        cluster.meet()
        found = cluster.wire.each({5: [ask_metadata()]}, Deadline(5, 2.0))
        assert isinstance(found[5], UnreachableError)


def test_threads_stay_few() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.well, fakebroker.silent, fakebroker.well)
        cluster.meet()

        def workers() -> int:
            return sum(thread.name.startswith("kafka-") for thread in threading.enumerate())

        before = workers()
        for _ in range(10):
            cluster.wire.begin_poll()
            cluster.ask_all(Deadline(10, 0.1))
        assert workers() - before <= 6


def test_where_no_thread_could_be_started_the_next_request_starts_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.well)
        cluster.meet()
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", no_thread)
            with pytest.raises(RuntimeError, match="new thread"):
                cluster.ask_all(Deadline(10, 1.0))
        assert cluster.ask_all(Deadline(10, 5.0)) == {0: True}


def test_answers_over_a_connection_that_cannot_be_renewed_do_not_shorten_the_pauses() -> None:
    """Else a login that is refused would be tried again and again, until the user is locked."""
    options = SocketOptions(first_back_off_seconds=0.1)
    real = Connector(ConnectionSettings(sockets=options), "test")
    tries: list[float] = []

    def open_once(*args: Any, **more: Any) -> Connection:
        tries.append(time.monotonic())
        if len(tries) > 1:
            raise SecurityError("refused")
        opened = real.open(*args, **more)
        opened.renew_at = time.monotonic()
        return opened

    connector = SimpleNamespace(open=open_once, options=options, delay=None)
    with fake_broker(fakebroker.well) as broker:
        client = BrokerClient(cast(Connector, connector), "broker 1", "127.0.0.1", broker.port)
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            assert client.ask([ask_metadata()]).result(5)
            time.sleep(0.02)
        client.close()
    assert 3 <= len(tries) <= 6  # the one that is good; then at 0.0, 0.1, 0.3, 0.7, 1.5 s


def no_thread(_: object) -> None:
    raise RuntimeError("can't start new thread")
