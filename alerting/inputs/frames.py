"""The rows that one evaluation looks at, and which of them are fresh: pure values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import polars as pl

from lake.schemas.model import Table
from lake.schemas.tables import WRITTEN_EVERY_SECONDS

STALE_INTERVALS = 4.0
"""Rows that are older than this many polls say nothing about now."""

BRIEF_INTERVALS = 2.5
"""What was last read within so many polls is as it was: one or two that failed say nothing."""

KAFKA = "kafka"
"""The source of a Kafka cluster's own rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """Rows of one cluster up to a moment.

    Attributes:
        now: The moment, in Unix seconds.
        tables: Rows by table; a table that lacks has none.
        watched_since: Since when somebody evaluates, in Unix seconds: older data is not called
            late before there was time for new.
    """

    cluster: str
    now: float
    tables: Mapping[str, pl.DataFrame]
    errors: Mapping[str, str] = field(default_factory=dict)
    watched_since: float = 0.0
    _newest: dict[str, pl.DataFrame] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _last: dict[str, pl.DataFrame] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def rows(self, table: Table) -> pl.DataFrame:
        """Return all rows of a table that are there."""
        found = self.tables.get(table.name)
        return table.empty if found is None else found

    def last(self, table: Table) -> pl.DataFrame:
        """Return the newest row of each thing that a table tells of, however old."""
        if table.name not in self._last:
            rows = self.rows(table).sort("observed_at")
            self._last[table.name] = rows.unique(table.series, keep="last")
        return self._last[table.name]

    def newest(self, table: Table) -> pl.DataFrame:
        """Return the rows of each source's newest poll of a table that are fresh."""
        if table.name not in self._newest:
            self._newest[table.name] = self._newest_of(table)
        return self._newest[table.name]

    def _newest_of(self, table: Table) -> pl.DataFrame:
        rows = self.rows(table)
        every_seconds = WRITTEN_EVERY_SECONDS.get(table.name, 0.0)
        if not self.is_fresh(rows, every_seconds):
            return table.empty
        newest = pl.col("observed_at").max()
        if "connect" not in rows.columns:
            return rows.filter(pl.col("observed_at") == newest)
        # Connect clusters are polled at moments of their own.
        oldest = self.at - timedelta(seconds=self._stale_seconds + every_seconds)
        newest = newest.over("connect")
        return rows.filter(pl.col("observed_at") == newest, pl.col("observed_at") >= oldest)

    def is_fresh(self, rows: pl.DataFrame, every_seconds: float = 0.0) -> bool:
        """Return whether rows are of a poll that is not older than a few intervals.

        Args:
            rows: The rows.
            every_seconds: How often they are written where that is not at each poll.
        """
        end = rows["observed_at"].max()
        if not isinstance(end, datetime):
            return False
        return self.now - end.timestamp() <= self._stale_seconds + every_seconds

    @property
    def _stale_seconds(self) -> float:
        return STALE_INTERVALS * self.interval_seconds

    @property
    def at(self) -> datetime:
        """The moment."""
        return datetime.fromtimestamp(self.now, UTC)

    @property
    def sampled_at(self) -> float:
        """The moment of the newest samples, where they are fresh; else the present.

        It is the same in each instance that reads the same lake.
        """
        collections = self.tables.get("collections")
        if collections is None:
            return self.now
        newest = collections["observed_at"].max()
        if isinstance(newest, datetime) and self.is_fresh(collections):
            return newest.timestamp()
        return self.now

    def is_brief(self, seconds: float) -> bool:
        """Return whether no more than one or two polls failed since something was last read."""
        return seconds <= BRIEF_INTERVALS * self.interval_seconds

    @property
    def interval_seconds(self) -> float:
        """The longest cadence of its sources; 15 s where none is known."""
        found = self.tables.get("collections")
        longest = None if found is None else found["interval_seconds"].max()
        return float(longest) if isinstance(longest, int | float) else 15.0


def unix(moment: object) -> float | None:
    """Return a moment in Unix seconds; None for none."""
    return moment.timestamp() if isinstance(moment, datetime) else None
