"""The management API of a RabbitMQ that the tests make."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.collectors.rabbitmq.management import Management, serve


@pytest.fixture
def api() -> Iterator[Management]:
    with serve(Management()) as management:
        yield management
