"""Files of samples that cannot be read, and history without them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import polars as pl
from pyspark.sql import SparkSession

from lake.change_encoding.expand import REWRITTEN_AFTER
from lake.differences import LONGEST_REACH
from lake.schemas.tables import TABLES
from lake.storage.store import Lake
from spark_metrics.arrivals import SPARK_ERRORS, UnreadableFileError, cause
from spark_metrics.progress import EVER, TimeRange
from spark_metrics.rollups.passes import SOURCES
from spark_metrics.samples import address

_LENIENT = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")


class BrokenFiles:
    """The files that a job goes on without, until its process ends."""

    def __init__(self, spark: SparkSession, lake: Lake) -> None:
        self._spark = spark
        self._lake = lake
        self._minutes: dict[str, TimeRange] = {}
        self._readable: set[str] = set()

    def add(self, broken: UnreadableFileError) -> None:
        """Go on without a file.

        Raises:
            LakeError: The log of its table cannot be read.
        """
        minutes = minutes_of_file(self._lake, broken)
        if minutes is not None:
            self._minutes[_name(broken.path)] = minutes

    def are_near(self, time_range: TimeRange) -> bool:
        """Return whether one of them may have samples that the minutes of a range follow from."""
        reads = _with_reach(time_range)
        return any(reads.overlaps(one) for one in self._minutes.values())

    @contextmanager
    def passed_over(self) -> Iterator[None]:
        """Have Spark pass over what it cannot read.

        It does not say what that was. So all other files from their time on are read before, once.

        Raises:
            UnreadableFileError: Another file is broken.
            HistoryError: They cannot be read for another reason.
            LakeError: The log of a table cannot be read.
        """
        self._check()
        for name in _LENIENT:
            self._spark.conf.set(name, "true")
        try:
            yield
        finally:
            for name in _LENIENT:
                self._spark.conf.set(name, "false")

    def _check(self) -> None:
        if not self._minutes:
            return
        since = min(_with_reach(one).start for one in self._minutes.values())
        for table in SOURCES:
            files, last = self._lake.files(table), f"max.{table.time}"
            if last in files.columns:
                files = files.filter(pl.col(last).is_null() | (pl.col(last) >= since))
            root = address(self._lake, table)
            paths = [] if files.is_empty() else [f"{root}/{path}" for path in files["path"]]
            unread = [path for path in paths if path not in self._readable]
            unread = [path for path in unread if _name(path) not in self._minutes]
            if not unread:
                continue
            try:
                rows = self._spark.read.schema(table.spark_ddl).parquet(*unread)
                rows.write.format("noop").mode("overwrite").save()
            except SPARK_ERRORS as error:
                raise cause(error) from error
            self._readable.update(unread)


def minutes_of_file(lake: Lake, broken: UnreadableFileError) -> TimeRange | None:
    """Return the minutes that a file has samples of, as its table's log says.

    Returns:
        None if the newest version does not name the file, so that no computation reads it; all
        minutes if nothing is known of it.

    Raises:
        LakeError: The log cannot be read.
    """
    table = TABLES.get(broken.table)
    if table is None:
        return EVER
    files = lake.files(table)
    if files.is_empty():
        return None
    name = _name(broken.path)
    for file in files.filter(pl.col("path").str.ends_with(name)).iter_rows(named=True):
        first, last = (file.get(f"{end}.{table.time}") for end in ("min", "max"))
        if not isinstance(first, datetime) or not isinstance(last, datetime):
            return EVER
        return TimeRange.around(first.astimezone(UTC), last.astimezone(UTC))
    return None


def _with_reach(minutes: TimeRange) -> TimeRange:
    """Return a time range with the time before it whose samples its minutes follow from."""
    if minutes == EVER:
        return EVER
    return TimeRange(start=minutes.start - LONGEST_REACH - REWRITTEN_AFTER, end=minutes.end)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
