"""Schema Registries as sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import polars as pl

from collectors.schema_registry.checks import run_checks
from collectors.schema_registry.client import RegistryClient
from collectors.schema_registry.subjects import RegistryCollector, recalled
from collectors.source.http_source import HttpSource
from collectors.source.model import Recall
from collectors.source.shared_facts import SharedFacts
from config.integrations import SchemaRegistrySettings
from config.settings import Settings
from lake.schemas.tables import SCHEMA_REGISTRIES, SCHEMA_SUBJECTS

KIND = "schema_registry"
SECTIONS = ("schema_registries",)


class SchemaRegistrySource(HttpSource[RegistryClient, SchemaRegistrySettings]):
    """Polls one Schema Registry. For one thread."""

    def __init__(
        self, settings: SchemaRegistrySettings, cluster: str, interval_seconds: float
    ) -> None:
        super().__init__(
            KIND,
            settings,
            cluster,
            interval_seconds,
            RegistryClient(settings),
            dict.fromkeys(SECTIONS, RegistryCollector()),
            run_checks,
        )
        own = {KIND: settings.name}
        self.recalls = (
            Recall(table=SCHEMA_REGISTRIES.name, only=own),
            Recall(table=SCHEMA_SUBJECTS.name, only=own),
        )

    def remember(
        self, tables: Mapping[str, pl.DataFrame], polls: Iterable[pl.DataFrame] = ()
    ) -> None:
        """Take over what the last poll before a restart knew."""
        registry = tables.get(SCHEMA_REGISTRIES.name)
        if registry is None:
            return
        row = registry.row(0, named=True)
        rows = tables.get(SCHEMA_SUBJECTS.name)
        if rows is None and row["subjects"] != 0:
            return
        # A registry without subjects leaves no rows of them: older ones may be there.
        subjects = {} if rows is None or row["subjects"] == 0 else recalled(rows)
        levels = {kind: row[kind] for kind in ("compatibility", "mode")}
        self.client.remember(subjects, levels)


def schema_registry_sources(
    settings: Settings, _shared: SharedFacts
) -> Iterator[SchemaRegistrySource]:
    """Make a source of each Schema Registry in the settings."""
    for each in settings.schema_registry:
        yield SchemaRegistrySource(
            each, settings.cluster_of(each), settings.poll_interval_seconds(each)
        )
