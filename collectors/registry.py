"""Which sources the settings ask for: the one place where a kind of source is registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from collectors.connect.source import connect_sources
from collectors.ditto.source import ditto_sources
from collectors.kafka.source import kafka_sources
from collectors.prometheus.source import prometheus_sources
from collectors.rabbitmq.source import rabbitmq_sources
from collectors.source.model import Source
from collectors.source.shared_state import Exchange
from config.settings import Settings

Maker = Callable[[Settings, Exchange], Iterable[Source]]
"""Makes every source of one kind that the settings ask for."""


MAKERS: tuple[Maker, ...] = (
    connect_sources,
    ditto_sources,
    kafka_sources,
    prometheus_sources,
    rabbitmq_sources,
)
"""A line for each kind. A kind that others want to know of comes before them."""


def make_sources(settings: Settings, only: str | None = None) -> list[Source]:
    """Return every source, or those whose samples carry the name of one cluster.

    Raises:
        SettingsError: A source's settings cannot work.
        KeyError: There is no cluster ``only``.
    """
    exchange = Exchange()
    sources = [source for make in MAKERS for source in make(settings, exchange)]
    if only is None:
        return sources
    chosen = [source for source in sources if source.cluster == only]
    if not chosen:
        raise KeyError(only)
    return chosen
