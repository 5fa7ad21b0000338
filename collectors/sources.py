"""Which sources the settings ask for: the one place where a kind of source is registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from collectors.connect.source import connect_sources
from collectors.ditto.source import DittoSource
from collectors.exchange import Exchange
from collectors.kafka.source import KafkaSource
from collectors.prometheus.source import PrometheusSource
from collectors.rabbitmq.source import rabbitmq_source
from collectors.source import Source
from config.settings import Settings

Maker = Callable[[Settings, Exchange], Iterable[Source]]
"""Makes every source of one kind that the settings ask for."""


def _kafka(settings: Settings, exchange: Exchange) -> Iterable[Source]:
    for cluster in settings.clusters:
        yield KafkaSource(cluster, settings.poll_interval_seconds(cluster), exchange)


def _prometheus(settings: Settings, exchange: Exchange) -> Iterable[Source]:
    for server in settings.prometheus:
        yield PrometheusSource(
            server, settings.cluster_of(server), settings.poll_interval_seconds(server)
        )


def _ditto(settings: Settings, exchange: Exchange) -> Iterable[Source]:
    for server in settings.ditto:
        yield DittoSource(
            server, settings.cluster_of(server), settings.poll_interval_seconds(server), exchange
        )


def _rabbitmq(settings: Settings, exchange: Exchange) -> Iterable[Source]:
    for server in settings.rabbitmq:
        yield rabbitmq_source(
            server, settings.cluster_of(server), settings.poll_interval_seconds(server)
        )


MAKERS: tuple[Maker, ...] = (connect_sources, _ditto, _kafka, _prometheus, _rabbitmq)
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
