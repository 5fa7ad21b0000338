"""Servers that several files of this folder share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.servers.rabbitmq.server import Running, rabbit


@pytest.fixture(scope="session")
def rabbit_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A RabbitMQ for those who break nothing; who makes a virtual host of a demo deletes it."""
    with rabbit(tmp_path_factory.mktemp("rabbit")) as running:
        yield running
