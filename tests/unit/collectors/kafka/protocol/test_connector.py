"""When a connection is opened anew to see whether the broker's certificate was replaced."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import cast

import pytest

from collectors.kafka.protocol.connection import Connection
from collectors.kafka.protocol.connector import _look_again

HOUR = 3600.0


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
