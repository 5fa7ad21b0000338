"""Reading bronze tables: what was appended since, and the samples of a stretch of time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import polars as pl

from config.settings import LakeSettings
from lake.schemas.model import Table
from lake.storage.store import Lake
from spark_metrics.files import File, Position, TableFiles
from spark_metrics.sampling import begin
from spark_metrics.tasks import UNREADABLE, Files, is_readable

_STATISTICS_STEP = timedelta(milliseconds=1)
"""Statistics may be cut to milliseconds."""


@dataclass(frozen=True, slots=True)
class Appended:
    """A file with samples.

    Attributes:
        file: The file.
        first: The earliest sample in it, or earlier.
        last: The latest sample in it, or later.
    """

    file: File
    first: datetime
    last: datetime

    @property
    def rows(self) -> int:
        """How many samples it holds."""
        return self.file.rows

    def share(self, since: datetime, until: datetime) -> float:
        """Return which share of its time lies in a stretch, in [0, 1]."""
        inside = min(self.last, until) - max(self.first, since)
        return min(1.0, max(0.0, inside / (self.last - self.first)))


class BronzeTable:
    """One bronze table as the history jobs read it."""

    def __init__(self, lake: Lake, settings: LakeSettings, table: Table) -> None:
        self.table = table
        self._files = TableFiles(lake.uri(table), settings)
        self._set_aside: set[str] = set()
        self._known: list[Appended] | None = None

    def position(self) -> Position | None:
        """Look for new commits; return the newest position, None while there is no table.

        Raises:
            HistoryError: The table cannot be read.
        """
        self._known = None
        return self._files.position()

    def appended(self, since: Position | None, until: Position) -> tuple[list[Appended], bool]:
        """Return the files with samples that were appended after a position.

        The statistics in Delta's log say which minutes a commit touched, so that no sample is
        read to find that out.

        Args:
            since: Where the last read ended; None to return every file.
            until: What ``position`` returned last.

        Returns:
            The files, and whether they are all of the table's: because nothing was read yet, the
            table was made anew, or its log no longer reaches back.

        Raises:
            HistoryError: The table cannot be read.
        """
        added = self._files.added(since, until)
        if added is None:
            return self._all(), True
        return [self._appended(file) for file in added], False

    def late(self, appended: Appended, limit: timedelta) -> int:
        """Return how many samples of a file were written later than ``limit`` after their time.

        None, as far as is known, of a file that cannot be read: whoever computes its minutes
        finds that out and leaves it aside.
        """
        oldest = appended.file.written_at - limit
        if appended.first >= oldest:
            return 0
        if appended.last < oldest:
            return appended.rows
        try:
            count = (
                pl.scan_parquet(
                    self._files.address(appended.file), storage_options=self._files.options
                )
                .filter(pl.col(self.table.time) < oldest)
                .select(pl.len())
                .collect()
                .item()
            )
        except UNREADABLE:
            return 0
        return int(count)

    def earliest(self) -> datetime | None:
        """Return a moment that no sample is before; None without samples."""
        return min((appended.first for appended in self._all()), default=None)

    def rows(self, since: datetime, until: datetime) -> int:
        """Return about how many samples there are in a stretch of time.

        The samples of a file are taken for even over its time.
        """
        return round(sum(one.share(since, until) * one.rows for one in self._between(since, until)))

    def files(self, since: datetime, until: datetime) -> Files:
        """Return the files with samples of a stretch of time, of one version."""
        paths = (self._files.address(one.file) for one in self._between(since, until))
        return Files(self.table, tuple(paths), self._files.options)

    def set_aside(self, since: datetime, until: datetime) -> list[str]:
        """Leave out from now on the files of a stretch that cannot be read.

        Returns:
            Their addresses.

        Raises:
            HistoryError: The table itself cannot be read, so that nothing is known of its files.
        """
        paths = self.files(begin(self.table, since), until).paths
        broken = [path for path in paths if not is_readable(path, self._files.options)]
        self._set_aside.update(broken)
        if broken:
            self.position()
        return broken

    def _between(self, since: datetime, until: datetime) -> list[Appended]:
        return [file for file in self._all() if file.first < until and file.last >= since]

    def _all(self) -> list[Appended]:
        if self._known is None:
            files = self._files.current()
            known = [
                self._appended(file)
                for file in files
                if self._files.address(file) not in self._set_aside
            ]
            # In the order of time: rows that come in order need not be put in order.
            self._known = sorted(known, key=lambda one: one.first)
        return self._known

    def _appended(self, file: File) -> Appended:
        """Say which time a file covers; without statistics it may be any of its day."""
        day = datetime.fromisoformat(file.partition["date"]).replace(tzinfo=UTC)
        first = file.lowest(self.table.time) or day
        last = file.highest(self.table.time) or day + timedelta(days=1)
        return Appended(file, first, last + _STATISTICS_STEP)
