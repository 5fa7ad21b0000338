"""How connections come about, and when they are opened anew to see a new certificate."""

from __future__ import annotations

import socket
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import cast

import pytest

from bench.support.network import network
from collectors.errors import NoAnswerError
from collectors.kafka.protocol.properties import ConnectionSettings
from collectors.kafka.protocol.sockets import SocketOptions
from collectors.kafka.protocol.transport import connector
from collectors.kafka.protocol.transport.connection import Connection
from collectors.kafka.protocol.transport.connector import _look_again

HOUR = 3600.0


def test_an_address_that_cannot_be_reached_is_named_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "_CONNECT_SECONDS", 0.2)
    with network() as names, closing(socket.create_server(("127.0.0.1", 0))) as server:
        names.dead_first.add("kafka.test")
        settings = ConnectionSettings(sockets=SocketOptions(family=socket.AF_INET))
        opening = connector.Connector(settings, "test")
        with pytest.raises(NoAnswerError, match=r"broker 1: no TCP connection .* firewall"):
            opening.open("broker 1", "kafka.test", server.getsockname()[1])


@pytest.mark.parametrize(
    ("days", "session_seconds", "expected"),
    [
        pytest.param(None, None, None, id="no encryption"),
        pytest.param(90, None, None, id="valid for long"),
        pytest.param(90, 60.0, 60.0, id="valid for long, the session ends"),
        pytest.param(10, None, HOUR, id="expires soon"),
        pytest.param(-1, None, HOUR, id="has expired, and is not checked"),
        pytest.param(10, 60.0, 60.0, id="the session ends earlier"),
        pytest.param(10, 2 * HOUR, HOUR, id="the session ends later"),
    ],
)
def test_renewal(days: int | None, session_seconds: float | None, expected: float | None) -> None:
    now = time.monotonic()
    connection = SimpleNamespace(
        certificate_expires_at=None if days is None else datetime.now(UTC) + timedelta(days=days),
        renew_at=None if session_seconds is None else now + session_seconds,
    )
    _look_again(cast(Connection, connection))
    if expected is None:
        assert connection.renew_at is None
    else:
        assert connection.renew_at == pytest.approx(now + expected, abs=5)
