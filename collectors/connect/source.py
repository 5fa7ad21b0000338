"""Kafka Connect clusters as sources."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.connect import connectors, mirrors
from collectors.connect.checks import run_checks
from collectors.connect.client import ConnectClient
from collectors.source.http_source import HttpSource
from collectors.source.shared_facts import SharedFacts
from config.integrations import ConnectSettings
from config.settings import Settings

SECTIONS = {"connectors": connectors.collect, "mirrors": mirrors.collect}
"""Section: its collector, in the order of a poll."""


def connect_sources(
    settings: Settings, shared: SharedFacts
) -> Iterator[HttpSource[ConnectClient, ConnectSettings]]:
    """Make a source of each Connect cluster in the settings."""
    clusters = [each.name for each in settings.clusters]
    for each in settings.connect:
        cluster = settings.cluster_of(each)
        yield HttpSource(
            "connect",
            each,
            cluster,
            settings.poll_interval_seconds(each),
            ConnectClient(each, cluster, clusters, shared),
            SECTIONS,
            run_checks,
        )
