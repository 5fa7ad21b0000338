"""What is new in bronze: one stream of Structured Streaming over all tables that history reads.

A batch of the stream is not what history is computed from, only what tells which minutes it
touches: these are computed from all their samples. So a batch that is seen twice changes nothing,
and the stream's checkpoint and the note of what it touched need not be written at once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import reduce

import polars as pl
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it ships no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from config.settings import LakeSettings
from lake.change_encoding.expand import REWRITTEN_AFTER
from lake.differences import reach_of
from lake.errors import one_line
from lake.schemas.model import Table
from lake.schemas.tables import COLLECTIONS, TABLES
from lake.storage.store import Lake
from spark_metrics.errors import HistoryError, raised_in_python
from spark_metrics.objectstore import hadoop_address
from spark_metrics.progress import (
    MINUTE,
    JobRecords,
    MicroBatch,
    Progress,
    TimeRange,
    merge,
    minute_of,
)
from spark_metrics.rollups.passes import SOURCES
from spark_metrics.samples import address

SPARK_ERRORS = (PySparkException, Py4JError, OSError)
"""What a call of Spark raises."""

MOST_FILES = 5_000
"""So many files a table are one batch at most, when the stream begins."""

CLOCKS_DIFFER = timedelta(minutes=1)
"""So much later than the present a sample may be and still count as the newest."""

_EPOCH = datetime.fromtimestamp(0, UTC)

_LOST = re.compile(
    r"DELTA_\w*(NOT_FOUND|NOT_CONTIGUOUS|TRUNCATED|DATA_LOSS|DIFFERENT|MISSING_FILES)"
    r"|earliest available version|Could not find any delta files for version"
)
_UNREADABLE = re.compile(
    r"(?:FAILED_READ_FILE\S* .*?file|PATH_NOT_FOUND\S* Path does not exist:) (\S+?parquet)",
    re.DOTALL,
)


class UnreadableFileError(HistoryError):
    """A file of samples cannot be read.

    Attributes:
        path: Its address.
        table: The table's name.
    """

    def __init__(self, path: str) -> None:
        """Say which one."""
        self.table = next((name for name in TABLES if f"/{name}/" in path), "?")
        super().__init__(f"{self.table}: a file cannot be read: {path}")
        self.path = path


class LostStreamError(HistoryError):
    """A stream cannot go on: the log no longer has what it has not read yet."""


class LostFileError(UnreadableFileError, LostStreamError):
    """A file is not there: it is lost, or no version that is still known names it.

    Compaction puts files together, and deletes them later: a stream that was away for so long
    cannot read them one by one any more, but one that begins anew does not ask for them.
    """


def tables_of(lake: Lake) -> dict[str, str]:
    """Return Delta's ids of the bronze tables; those that are not there are made, empty.

    Raises:
        LakeError: A table cannot be read or made.
    """
    return {table.name: lake.create(table) for table in SOURCES}


def late_before(newest: datetime | None, late_after: timedelta) -> datetime:
    """Return before when a sample is too late, where ``newest`` is known."""
    return _EPOCH if newest is None else max(_EPOCH, newest - late_after)


def read_new(spark: SparkSession, lake: Lake, settings: LakeSettings, progress: Progress) -> None:
    """Note in the table ``jobs`` which minutes the samples touch that came since the last time.

    Args:
        spark: The session.
        lake: The lake.
        settings: Where it is, for the process that Spark notes batches in.
        progress: Its ``stream`` goes on; unknown to ``jobs``, a new one begins. Samples before
            its ``late_before`` are left to a backfill.

    Raises:
        UnreadableFileError: A file cannot be read; nothing of its batch was noted.
        LostStreamError: The stream cannot go on.
        HistoryError: The samples cannot be read.
    """
    checkpoint = address_of_checkpoint(lake, progress.stream)
    try:
        arrivals = reduce(DataFrame.unionByName, [_samples(spark, lake, one) for one in SOURCES])
        writer = arrivals.writeStream.foreachBatch(Note(settings=settings, progress=progress))
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
    except SPARK_ERRORS as error:
        raise cause(error) from error


def _samples(spark: SparkSession, lake: Lake, table: Table) -> DataFrame:
    """Return the stream of a table's samples."""
    return (
        spark.readStream.format("delta")
        # Only appends bring samples: retention deletes, maintenance compacts files.
        .option("skipChangeCommits", "true")
        .option("maxFilesPerTrigger", MOST_FILES)
        .load(address(lake, table))
        .select(
            F.lit(table.name).alias("source"),
            "observed_at",
            # Collectors say how often they poll beside what they polled.
            (F.col("interval_seconds") if table is COLLECTIONS else F.lit(None))
            .cast("double")
            .alias("interval_seconds"),
        )
    )


def address_of_checkpoint(lake: Lake, stream: str) -> str:
    """Return where a stream keeps how far it came."""
    return hadoop_address(f"{lake.checkpoints_uri}/history/{stream}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Notes what a batch touches; runs wherever Spark calls it, once or more for a batch.

    Attributes:
        settings: The lake.
        progress: Where the job stands if ``jobs`` does not know the stream yet.
    """

    settings: LakeSettings
    progress: Progress

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Write down what the batch with this number touches."""
        started_at = datetime.now(UTC)
        lake = Lake(self.settings)
        records = JobRecords(lake)
        known = records.last()
        progress = known if known and known.stream == self.progress.stream else self.progress
        # The limit of the whole look: the first of its batches may have the newest samples.
        limit = self.progress.late_before
        found = pl.DataFrame(
            batch.groupBy(
                "source",
                (F.col("observed_at") < F.lit(limit)).alias("is_late"),
                F.date_trunc("minute", "observed_at").alias("minute"),
            )
            .agg(
                F.count(F.lit(1)).alias("rows"),
                F.max("observed_at").alias("last"),
                F.max("interval_seconds").alias("interval_seconds"),
            )
            .toArrow()
        )
        if found.is_empty():
            return
        late = found.filter("is_late")
        in_time = found.filter(~pl.col("is_late"))
        noted = replace(progress, late_before=limit)
        if not in_time.is_empty():
            noted = touched(noted, in_time, started_at)
        micro_batch = MicroBatch(
            started_at=started_at,
            status="read",
            rows_read=int(found["rows"].sum()),
            late_rows=int(late["rows"].sum()),
        )
        records.add(micro_batch, noted)


def touched(progress: Progress, found: pl.DataFrame, now: datetime) -> Progress:
    """Return a progress with the minutes that new samples touch.

    Args:
        progress: What was known before.
        found: ``source``, ``minute``, the ``last`` sample of each minute and the longest
            ``interval_seconds`` between polls that it tells of; at least one.
        now: The present: what a clock that is ahead calls newest makes nothing else late.
    """
    intervals = [*found["interval_seconds"].drop_nulls(), progress.longest_interval or 0.0]
    longest = max(intervals) or None
    reach = reach_of(longest)
    last: datetime = found["last"].max()  # type: ignore[assignment]
    last = max(last, progress.newest or last)
    newest = min(last, now + CLOCKS_DIFFER)
    end = minute_of(last) + MINUTE
    ranges = (
        # What a row says holds for later polls too, that did not write it again.
        TimeRange.around(
            minute, at + reach + (REWRITTEN_AFTER if TABLES[source].change_only else timedelta())
        )
        for source, minute, at in found.select("source", "minute", "last").iter_rows()
    )
    inside = (time_range for one in ranges if (time_range := one.before(end)) is not None)
    pending = merge([*progress.pending, *inside])
    return replace(progress, pending=pending, newest=newest, longest_interval=longest)


def cause(error: Exception) -> HistoryError:
    """Return why Spark failed."""
    text = str(error)
    if broken := _UNREADABLE.search(text):
        is_lost = broken[0].startswith(("FAILED_READ_FILE.FILE_NOT_EXIST", "PATH_NOT_FOUND"))
        return (LostFileError if is_lost else UnreadableFileError)(broken[1])
    if _LOST.search(text):
        return LostStreamError(one_line(error))
    mine = re.search(r"(?:HistoryError|LakeError): (.+)", text)
    return HistoryError(mine[1] if mine else raised_in_python(text) or one_line(error))
