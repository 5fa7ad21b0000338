"""RabbitMQ as a source that a test polls, and what RabbitMQ 4 answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import SecretStr

from collectors.rabbitmq.checks import check
from collectors.rabbitmq.client import RabbitClient
from collectors.rabbitmq.source import SECTIONS
from collectors.source.http_source import HttpSource
from collectors.source.model import SectionResult
from config.integrations import RabbitMQSettings
from tests.unit.collectors.rabbitmq.management import Management


class Clock:
    """Seconds that a test lets pass."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def queue(name: str, **fields: Any) -> dict[str, Any]:
    """What RabbitMQ 4 tells of a classic queue that is idle."""
    return {
        "name": name,
        "vhost": "/",
        "type": "classic",
        "state": "running",
        "node": "rabbit@one",
        "arguments": {},
        "effective_policy_definition": {},
        "policy": None,
        "operator_policy": None,
        "messages": 0,
        "messages_ready": 0,
        "messages_unacknowledged": 0,
        "message_bytes": 0,
        "memory": 1000,
        "consumers": 0,
        "consumer_capacity": 0,
        **fields,
    }


def rate(**per_second: float) -> dict[str, Any]:
    """Counters with their rates."""
    stats: dict[str, Any] = {}
    for name, value in per_second.items():
        stats |= {name: 10, f"{name}_details": {"rate": value}}
    return stats


class Polled:
    """A source on the API, with a clock of the test's own."""

    def __init__(self, api: Management, interval_seconds: float = 30.0, **settings: Any) -> None:
        found = RabbitMQSettings(
            name="rabbit",
            url=api.url,
            username="headroom",
            password=SecretStr("secret"),
            **settings,
        )
        self.clock = Clock()
        client = RabbitClient(found, self.clock)
        self.source = HttpSource(
            "rabbitmq", found, "rabbit", interval_seconds, client, SECTIONS, check
        )

    def poll(self) -> tuple[SectionResult, SectionResult]:
        queues, dead_letters = self.source.poll(datetime.now(UTC))
        return queues, dead_letters

    def rows(self) -> dict[str, dict[str, Any]]:
        """Rows of ``queues`` by name."""
        result, _ = self.poll()
        assert result.status == "ok", result.error
        return {row["queue"]: row for row in result.frames["queues"].iter_rows(named=True)}
