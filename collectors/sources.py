"""Which sources the settings ask for: the one place where a kind of source is registered."""

from __future__ import annotations

from collectors.kafka.source import KafkaSource
from collectors.source import Source
from config.settings import Settings


def make_sources(settings: Settings, only: str | None = None) -> list[Source]:
    """Return a source for each cluster, or for the one of that name.

    Raises:
        SettingsError: A source's settings cannot work.
        KeyError: There is no cluster ``only``.
    """
    clusters = settings.clusters if only is None else [settings.cluster(only)]
    return [KafkaSource(cluster, settings.poll_interval_seconds(cluster)) for cluster in clusters]
