"""Reading samples from files stretch by stretch, on a worker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import polars as pl

from lake.change_encoding.expand import CARRIED_FOR, NEEDED, POLL, expanded, settled
from lake.schemas.model import Table
from spark_metrics.tasks import Files, Share

_OF_RUNS = ("run", "mark")
"""What tells which rows were left out: nobody asks once they are filled in."""


class Reader:
    """Samples of one table, in the order of time, each read from its file once.

    What a stretch needs of the time before it is kept from the one before.
    """

    def __init__(
        self, table: Table, columns: Sequence[str], share: Share, reach: timedelta
    ) -> None:
        """Prepare; nothing is read.

        Args:
            table: A bronze table.
            columns: Columns beside cluster, observed_at and poll_id.
            share: Which samples.
            reach: How far before a stretch its samples begin.
        """
        self._table = table
        self._share = share
        self._reach = reach
        self._names = dict.fromkeys(("cluster", "observed_at", "poll_id", *columns))
        if table.carried:
            self._names |= dict.fromkeys((*table.series, *NEEDED))
        self._kept: pl.DataFrame | None = None
        self._until: datetime | None = None

    def read(self, files: Files, start: datetime, end: datetime) -> pl.DataFrame:
        """Return the samples of a stretch and of the reach before it, those left out included.

        Args:
            files: All files with samples that no stretch before has read.
            start: The stretch's first moment, the end of the one before.
            end: Its last moment, exclusive.

        Raises:
            HistoryError: A file cannot be read.
        """
        rows = self._new(files, start, end)
        if self._kept is not None:
            rows = pl.concat([self._kept, rows])
        since, self._until = start - self._reach, end
        time = pl.col(self._table.time)
        if not self._table.carried:
            self._kept = rows.filter(time >= end - self._reach)
            return rows.filter(time >= since)
        self._kept = settled(self._table, rows, end - self._reach)
        return expanded(self._table, rows, since=since, until=end).drop(*_OF_RUNS)

    def _new(self, files: Files, start: datetime, end: datetime) -> pl.DataFrame:
        time = pl.col(self._table.time)
        first = self._until or begin(self._table, start - self._reach)
        inside = (time >= first) & (time < end)
        if self._table.carried:
            # A row that is complete by itself says nothing of later polls.
            inside &= pl.col("run").is_not_null() | (time >= start - self._reach)
        if self._share.column in self._names:
            wanted = self._share.contains()
            if self._table.carried:
                wanted |= pl.col("mark") == POLL
            inside &= wanted
        if self._table.carried:
            return files.collect(self._names, inside)
        rows = files.collect(dict.fromkeys((*self._names, *self._table.identity)), inside)
        return self._table.distinct(rows).select(*self._names)


def begin(table: Table, since: datetime) -> datetime:
    """Return from where a table's rows are needed to tell of the time from ``since`` on."""
    return since - CARRIED_FOR if table.carried else since
