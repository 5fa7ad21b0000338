"""The rows that one evaluation looks at, and which of them are fresh: pure values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import polars as pl

from alerting.facts import at_newest_poll
from lake.schema import Table

STALE_INTERVALS = 4.0
"""Rows that are older than this many polls say nothing about now."""

KAFKA = "kafka"
"""The source of a Kafka cluster's own rows."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Rows of one cluster up to a moment.

    Attributes:
        cluster: The name that the rows carry.
        now: The moment, in Unix seconds.
        tables: Rows by table; a table that lacks has none.
        errors: Tables that could not be read, with the reason.
        watched_since: Since when somebody evaluates, in Unix seconds: older data is not called
            late before there was time for new.
    """

    cluster: str
    now: float
    tables: Mapping[str, pl.DataFrame]
    errors: Mapping[str, str] = field(default_factory=dict)
    watched_since: float = 0.0

    def rows(self, table: Table) -> pl.DataFrame:
        """Return all rows of a table that are there."""
        found = self.tables.get(table.name)
        return pl.DataFrame(schema=table.polars_schema) if found is None else found

    def newest(self, table: Table) -> pl.DataFrame:
        """Return the rows of a table's newest poll where it is fresh; none otherwise."""
        rows = at_newest_poll(self.rows(table))
        return rows if self.is_fresh(rows) else rows.clear()

    def is_fresh(self, rows: pl.DataFrame) -> bool:
        """Tell whether rows are of a poll that is not older than a few intervals."""
        end = rows["observed_at"].max()
        if not isinstance(end, datetime):
            return False
        return self.now - end.timestamp() <= STALE_INTERVALS * self.interval_seconds

    @property
    def at(self) -> datetime:
        """The moment."""
        return datetime.fromtimestamp(self.now, UTC)

    @property
    def interval_seconds(self) -> float:
        """The longest cadence of its sources; 15 s where none is known."""
        found = self.tables.get("collections")
        longest = None if found is None else found["interval_seconds"].max()
        return float(longest) if isinstance(longest, int | float) else 15.0

    def is_configured(self, sources: Iterable[str]) -> bool:
        """Tell whether a source of one of these kinds was polled, or tried, of late."""
        found = self.tables.get("collections")
        if found is None:
            return False
        kinds = found["source"].fill_null(KAFKA).unique().str.split("/").list.first()
        return bool(kinds.is_in(list(sources)).any())


def unix(moment: object) -> float | None:
    """Return a moment in Unix seconds; None for none."""
    return moment.timestamp() if isinstance(moment, datetime) else None
