"""A RabbitMQ as a source."""

from __future__ import annotations

from collectors.collector import Collector
from collectors.httpsource import HttpSource
from collectors.rabbitmq.checks import check
from collectors.rabbitmq.client import RabbitClient
from collectors.rabbitmq.sections import dead_letters, queues
from config.neighbours import RabbitMQSettings

KIND = "rabbitmq"

SECTIONS: dict[str, Collector[RabbitClient, RabbitMQSettings]] = {
    "queues": queues.collect,
    "dead_letters": dead_letters.collect,
}


def rabbitmq_source(
    settings: RabbitMQSettings, cluster: str, interval_seconds: float
) -> HttpSource[RabbitClient, RabbitMQSettings]:
    """Return a RabbitMQ as a source; nothing connects yet.

    Args:
        settings: The server's.
        cluster: The name that its samples carry.
        interval_seconds: The cadence.

    Raises:
        SettingsError: A certificate file cannot be used.
    """
    client = RabbitClient(settings)
    return HttpSource(KIND, settings, cluster, interval_seconds, client, SECTIONS, check)
