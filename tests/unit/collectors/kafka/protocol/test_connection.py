from __future__ import annotations

import time
from typing import Any

import pytest

from collectors.errors import (
    CollectorError,
    NoAnswerError,
    ProtocolError,
    UnreachableError,
    UnsupportedError,
)
from collectors.kafka.protocol.messages import ConsumerGroupDescribeRequest
from collectors.kafka.protocol.properties import ConnectionSettings
from collectors.kafka.protocol.sockets import SocketOptions
from collectors.kafka.protocol.transport.connection import Connection
from collectors.kafka.protocol.transport.connector import Connector
from tests.unit.collectors.kafka.protocol import fakebroker
from tests.unit.collectors.kafka.protocol.fakebroker import (
    METADATA,
    Behaviour,
    FakeBroker,
    ask_metadata,
    fake_broker,
)


def connect(broker: FakeBroker, patience: float = 3.0) -> Connection:
    settings = ConnectionSettings(sockets=SocketOptions(setup_seconds=patience))
    label = f"broker 7 (127.0.0.1:{broker.port})"
    return Connector(settings, "test").open(label, "127.0.0.1", broker.port)


def test_an_exchange_answers_in_order() -> None:
    with fake_broker(fakebroker.well) as broker:
        connection = connect(broker)
        answers = connection.exchange([ask_metadata(), ask_metadata()], 3.0)
        assert [found.cluster_id for found in answers] == ["fake", "fake"]
        connection.exchange([ask_metadata()], 3.0)
        assert broker.connections == 1
        assert broker.requests.count(METADATA) == 3


@pytest.mark.parametrize(
    ("behaviour", "error", "words"),
    [
        pytest.param(fakebroker.silent, NoAnswerError, "did not answer in time", id="silent"),
        pytest.param(
            fakebroker.silent_after_versions, NoAnswerError, "did not answer", id="freezes"
        ),
        pytest.param(
            fakebroker.trickling_from_the_start, NoAnswerError, "did not answer", id="trickles"
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
            connect(broker, 0.5).exchange([ask_metadata()], 0.5)
        assert time.monotonic() - start < 1.5
        assert str(caught.value).startswith(f"broker 7 (127.0.0.1:{broker.port}): ")
        assert "\n" not in str(caught.value)


def test_nobody_listens() -> None:
    with fake_broker(fakebroker.well) as broker:
        pass
    with pytest.raises(UnreachableError, match="refused"):
        connect(broker)


def test_a_request_that_the_broker_does_not_know() -> None:
    """The connection serves on."""
    with fake_broker(fakebroker.well) as broker:
        request = ConsumerGroupDescribeRequest(group_ids=[], include_authorized_operations=False)
        connection = connect(broker)
        with pytest.raises(UnsupportedError, match="broker 7"):
            connection.exchange([request], 3.0)
        assert connection.exchange([ask_metadata()], 3.0)
        assert broker.connections == 1


def test_answers_that_nobody_wants_are_not_decoded() -> None:
    with fake_broker(fakebroker.well) as broker:
        connection = connect(broker)
        assert connection.exchange([ask_metadata()], 3.0, is_wanted=lambda: False) == []
        (found,) = connection.exchange([ask_metadata()], 3.0)
        assert found.cluster_id == "fake"


def test_what_cannot_be_sent_leaves_no_answer_for_the_next_exchange() -> None:
    with fake_broker(fakebroker.well) as broker:
        connection = connect(broker)
        broken: Any = ask_metadata()
        broken.topics = 1
        with pytest.raises(ProtocolError):
            connection.exchange([ask_metadata(), broken], 3.0)
        with pytest.raises(UnreachableError):
            connection.exchange([ask_metadata()], 3.0)


def test_a_pause_that_the_broker_asks_for_does_not_prolong_the_set_up() -> None:
    with fake_broker(fakebroker.well) as broker:
        connection = connect(broker)
        start = time.monotonic()
        connection.throttled_until, connection.set_up_until = start + 5.0, start + 0.2
        with pytest.raises(NoAnswerError, match="did not answer in time"):
            connection.exchange([ask_metadata()], 3.0)
        assert time.monotonic() - start < 1.5
