"""Which sources the settings ask for: the one place where a kind of source is registered."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from collectors.connect.source import connect_sources
from collectors.ditto.source import ditto_sources
from collectors.kafka.source import kafka_sources
from collectors.prometheus.source import prometheus_sources
from collectors.rabbitmq.source import rabbitmq_sources
from collectors.schema_registry.source import schema_registry_sources
from collectors.source.model import Source
from collectors.source.shared_facts import SharedFacts
from config.settings import Settings

Maker = Callable[[Settings, SharedFacts], Iterable[Source]]
"""Makes every source of one kind that the settings ask for."""


MAKERS: tuple[Maker, ...] = (
    connect_sources,
    ditto_sources,
    kafka_sources,
    prometheus_sources,
    rabbitmq_sources,
    schema_registry_sources,
)
"""A line for each kind. A kind that others want to know of comes before them."""


def make_sources(
    settings: Settings, only: str | None = None, shared: SharedFacts | None = None
) -> list[Source]:
    """Return every source, or those whose samples carry the name of one cluster.

    Args:
        settings: What they are made from.
        only: The name of one cluster.
        shared: Where they find what others have told; none: nobody has told anything.

    Raises:
        SettingsError: A source's settings cannot work.
        KeyError: There is no cluster ``only``.
    """
    shared = shared or SharedFacts()
    sources = [source for make in MAKERS for source in make(settings, shared)]
    if only is None:
        return sources
    chosen = [source for source in sources if source.cluster == only]
    if not chosen:
        raise KeyError(only)
    return chosen


def source_specs(settings: Settings) -> dict[tuple[str, str], object]:
    """Return what each source is made from, by its cluster and name; equal ones poll alike."""
    names = {cluster.name for cluster in settings.clusters}
    specs: dict[tuple[str, str], object] = {
        (each.name, "kafka"): (each, settings.poll_interval_seconds(each))
        for each in settings.clusters
    }
    for kind in ("connect", "ditto", "prometheus", "rabbitmq", "schema_registry"):
        for each in getattr(settings, kind):
            interval = settings.poll_interval_seconds(each)
            # Connect compares with the clusters that mirrors copy from.
            beside = names if kind == "connect" else None
            specs[settings.cluster_of(each), f"{kind}/{each.name}"] = (each, interval, beside)
    return specs
