from __future__ import annotations

import threading
import time
from contextlib import ExitStack

import pytest

from collectors.errors import (
    CollectorError,
    NoAnswerError,
    ProtocolError,
    UnreachableError,
    UnsupportedError,
)
from collectors.kafka.protocol import broker_requests as wires
from collectors.kafka.protocol.broker_requests import Broker, Deadline, Wire
from collectors.kafka.protocol.connection import Connection
from collectors.kafka.protocol.messages import ConsumerGroupDescribeRequest
from collectors.kafka.protocol.properties import Security
from tests.unit.collectors.kafka.protocol import fakebroker
from tests.unit.collectors.kafka.protocol.fakebroker import (
    METADATA,
    Behaviour,
    FakeBroker,
    ask_metadata,
    fake_broker,
)


def connect(broker: FakeBroker) -> Connection:
    return Connection("broker 7", "127.0.0.1", broker.port, Security(), "test")


def test_an_exchange_answers_in_order() -> None:
    with fake_broker(fakebroker.well) as broker:
        connection = connect(broker)
        answers = connection.exchange([ask_metadata(), ask_metadata()], time.monotonic() + 3)
        assert [found.cluster_id for found in answers] == ["fake", "fake"]
        connection.exchange([ask_metadata()], time.monotonic() + 3)
        assert broker.connections == 1
        assert broker.requests.count(METADATA) == 3


@pytest.mark.parametrize(
    ("behaviour", "error", "words"),
    [
        pytest.param(fakebroker.silent, NoAnswerError, "did not answer in time", id="silent"),
        pytest.param(
            fakebroker.silent_after_versions, NoAnswerError, "did not answer", id="freezes"
        ),
        pytest.param(fakebroker.hangs_up, UnreachableError, "security.protocol", id="hangs up"),
        pytest.param(fakebroker.speaks_http, ProtocolError, "the right port", id="http"),
        pytest.param(fakebroker.garbage, ProtocolError, "not understood", id="garbage"),
        pytest.param(fakebroker.another_answer, ProtocolError, "another request", id="mixed up"),
    ],
)
def test_a_misbehaving_broker_is_one_line_in_time(
    behaviour: Behaviour, error: type[CollectorError], words: str
) -> None:
    with fake_broker(behaviour) as broker:
        start = time.monotonic()
        with pytest.raises(error, match=words) as caught:
            connect(broker).exchange([ask_metadata()], start + 0.5)
        assert time.monotonic() - start < 0.8
        assert str(caught.value).startswith(f"broker 7 (127.0.0.1:{broker.port}): ")
        assert "\n" not in str(caught.value)


def test_nobody_listens() -> None:
    with fake_broker(fakebroker.well) as broker:
        connection = connect(broker)
    with pytest.raises(UnreachableError, match="refused"):
        connection.exchange([ask_metadata()], time.monotonic() + 3)


def test_a_connection_that_was_idle_too_long_is_opened_anew() -> None:
    with fake_broker(fakebroker.one_answer_a_connection) as broker:
        connection = connect(broker)
        for _ in range(3):
            (found,) = connection.exchange([ask_metadata()], time.monotonic() + 3)
            assert found.cluster_id == "fake"
            time.sleep(0.05)  # the broker's close is on its way
        assert broker.connections == 3


def test_a_request_that_the_broker_does_not_know() -> None:
    with fake_broker(fakebroker.well) as broker:
        request = ConsumerGroupDescribeRequest(group_ids=[], include_authorized_operations=False)
        with pytest.raises(UnsupportedError, match="broker 7"):
            connect(broker).exchange([request], time.monotonic() + 3)


class Cluster:
    """A wire to fake brokers, numbered from 0."""

    def __init__(self, stack: ExitStack, *behaviours: Behaviour) -> None:
        self.brokers = [stack.enter_context(fake_broker(each)) for each in behaviours]
        servers = ",".join(f"127.0.0.1:{broker.port}" for broker in self.brokers)
        self.wire = Wire(servers, Security(), "test")
        stack.callback(self.wire.close)

    def meet(self) -> None:
        self.wire.meet(
            [Broker(n, "127.0.0.1", broker.port) for n, broker in enumerate(self.brokers)]
        )

    def ask_all(self, deadline: Deadline) -> dict[int, bool]:
        """Return who answered."""
        asked = {number: [ask_metadata()] for number in range(len(self.brokers))}
        found = self.wire.each(asked, deadline)
        return {number: not isinstance(result, CollectorError) for number, result in found.items()}


def test_a_silent_broker_delays_nobody_and_is_asked_with_little_patience_next_time() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.well, fakebroker.silent, fakebroker.well)
        cluster.meet()
        expected = {0: True, 1: False, 2: True}

        start = time.monotonic()
        assert cluster.ask_all(Deadline(10, 1.0)) == expected
        assert 0.9 < time.monotonic() - start < 1.4
        assert set(cluster.wire.suspects) == {1}

        # In the same poll it is not asked again.
        start, asked = time.monotonic(), len(cluster.brokers[1].requests)
        assert cluster.ask_all(Deadline(10, 1.0)) == expected
        assert time.monotonic() - start < 0.2
        assert len(cluster.brokers[1].requests) == asked

        # In the next one it is, briefly.
        cluster.wire.begin_poll()
        start = time.monotonic()
        assert cluster.ask_all(Deadline(10, 1.0)) == expected
        assert time.monotonic() - start < wires.SUSPECT_PATIENCE_SECONDS + 0.3
        assert len(cluster.brokers[1].requests) > asked

        cluster.brokers[1].behaviour = fakebroker.well
        cluster.wire.begin_poll()
        assert cluster.ask_all(Deadline(10, 1.0)) == dict.fromkeys(expected, True)
        assert not cluster.wire.suspects


def test_no_request_outlives_the_poll() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.silent, fakebroker.silent)
        cluster.meet()
        start = time.monotonic()
        assert cluster.ask_all(Deadline(0.3, 5.0)) == {0: False, 1: False}
        assert time.monotonic() - start < 0.7


def test_any_asks_the_next_one_where_the_first_is_slow() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.silent, fakebroker.well)
        start = time.monotonic()
        found = cluster.wire.any(ask_metadata, Deadline(10, 3.0))
        assert found.cluster_id == "fake"
        assert time.monotonic() - start < 1.5


def test_any_goes_on_at_once_where_the_first_fails() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.hangs_up, fakebroker.well)
        start = time.monotonic()
        assert cluster.wire.any(ask_metadata, Deadline(10, 3.0)).cluster_id == "fake"
        assert time.monotonic() - start < 0.4


def test_any_fails_with_the_words_that_say_most() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.silent, fakebroker.speaks_http)
        start = time.monotonic()
        with pytest.raises(ProtocolError, match="the right port"):
            cluster.wire.any(ask_metadata, Deadline(10, 1.0))
        assert time.monotonic() - start < 1.6


def test_a_broker_that_moved_is_asked_at_its_new_place() -> None:
    with ExitStack() as stack:
        cluster = Cluster(stack, fakebroker.well, fakebroker.well)
        cluster.wire.meet([Broker(0, "127.0.0.1", cluster.brokers[0].port)])
        assert cluster.wire.each({0: [ask_metadata()]}, Deadline(5, 2.0))
        cluster.wire.meet([Broker(0, "127.0.0.1", cluster.brokers[1].port)])
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
            return sum(thread.name.startswith("kafka_") for thread in threading.enumerate())

        before = workers()
        for _ in range(10):
            cluster.wire.begin_poll()
            cluster.ask_all(Deadline(10, 0.1))
        assert workers() - before <= 6
