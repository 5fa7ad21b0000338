"""A RabbitMQ as a source."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.rabbitmq import dead_letters, queues
from collectors.rabbitmq.checks import check
from collectors.rabbitmq.client import RabbitClient
from collectors.source.http_source import HttpSource
from collectors.source.section import Collector
from collectors.source.shared_facts import SharedFacts
from config.integrations import RabbitMQSettings
from config.settings import Settings

KIND = "rabbitmq"

SECTIONS: dict[str, Collector[RabbitClient, RabbitMQSettings]] = {
    "queues": queues.collect,
    "dead_letters": dead_letters.collect,
}


def rabbitmq_sources(
    settings: Settings, _shared: SharedFacts
) -> Iterator[HttpSource[RabbitClient, RabbitMQSettings]]:
    """Make a source of each RabbitMQ in the settings."""
    for each in settings.rabbitmq:
        yield HttpSource(
            KIND,
            each,
            settings.cluster_of(each),
            settings.poll_interval_seconds(each),
            RabbitClient(each),
            SECTIONS,
            check,
        )
