"""Reading bronze tables: what was appended since, and the files of a stretch of time.

Both come from the table's Delta log through delta-rs, which costs milliseconds and no Spark job.
The statistics in the log say which minutes a commit touched, so that no row is read twice to
find that out. A compaction changes no data and says so in the log: it is passed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from pyspark.sql import DataFrame, SparkSession

from config.settings import LakeSettings
from lake.schema import Table
from lake.store import Lake
from spark_metrics.errors import HistoryError

MOST_COMMITS = 5_000
"""When more commits than these are new, the table's files are looked through instead."""

_STATISTICS_STEP = timedelta(milliseconds=1)
"""Statistics may be cut to milliseconds."""

_ADD = pl.Struct(
    {
        "path": pl.String(),
        "dataChange": pl.Boolean(),
        "modificationTime": pl.Int64(),
        "stats": pl.String(),
        "partitionValues": pl.Struct({"date": pl.String()}),
    }
)


@dataclass(frozen=True, slots=True)
class Position:
    """How far a table has been read.

    Attributes:
        table_id: Delta's id of the table; a table that was made anew has another.
        version: The newest version that was read.
    """

    table_id: str
    version: int


@dataclass(frozen=True, slots=True)
class Appended:
    """A file with new rows.

    Attributes:
        path: Its path in the table.
        first: The earliest sample in it, or earlier.
        last: The latest sample in it, or later.
        rows: How many samples it holds.
        written_at: When it was written.
    """

    path: str
    first: datetime
    last: datetime
    rows: int
    written_at: datetime


class BronzeTable:
    """One bronze table as the history jobs read it."""

    def __init__(self, lake: Lake, settings: LakeSettings, table: Table) -> None:
        self.table = table
        self._uri = lake.uri(table)
        self._options = settings.plain_storage_options() or None
        self._handle: DeltaTable | None = None

    def position(self) -> Position | None:
        """Look for new commits; return the newest position, None while there is no table.

        Raises:
            HistoryError: The table cannot be read.
        """
        try:
            if self._handle is None:
                self._handle = DeltaTable(self._uri, storage_options=self._options)
            else:
                self._handle.update_incremental()
            return Position(str(self._handle.metadata().id), self._handle.version())
        except TableNotFoundError:
            self._handle = None
            return None
        except (DeltaError, OSError, ValueError) as error:
            self._handle = None
            raise HistoryError(f"{self.table.name}: {self._uri} cannot be read: {error}") from error

    def appended(self, since: Position | None, until: Position) -> tuple[list[Appended], bool]:
        """Return the files with rows that were appended after a position.

        Args:
            since: Where the last read ended; None to return every file.
            until: What ``position`` returned last.

        Returns:
            The files, and whether they are all of the table's: because nothing was read yet, the
            table was made anew, or its log no longer reaches back.

        Raises:
            HistoryError: The table cannot be read.
        """
        if (
            since is None
            or since.table_id != until.table_id
            or not 0 <= until.version - since.version <= MOST_COMMITS
        ):
            return self._files(), True
        if since.version == until.version:
            return [], False
        commits = [
            f"{self._uri}/_delta_log/{version:020}.json"
            for version in range(since.version + 1, until.version + 1)
        ]
        try:
            actions = pl.scan_ndjson(
                commits, schema={"add": _ADD}, storage_options=self._options
            ).collect()
        except FileNotFoundError:  # old commits are removed once a checkpoint has them
            return self._files(), True
        except (pl.exceptions.PolarsError, OSError) as error:
            raise HistoryError(f"{self.table.name}: its log cannot be read: {error}") from error
        time = self.table.time
        moments = pl.Struct({time: pl.String()})
        statistics = pl.Struct(
            {"numRecords": pl.Int64(), "minValues": moments, "maxValues": moments}
        )
        added = (
            actions.filter(pl.col("add").is_not_null())
            .unnest("add")
            .filter(pl.col("dataChange"))
            .with_columns(pl.col("stats").str.json_decode(statistics))
        )
        return [
            self._appended(
                path=row["path"],
                written=row["modificationTime"],
                date=row["partitionValues"]["date"],
                rows=(row["stats"] or {}).get("numRecords"),
                first=_moment(((row["stats"] or {}).get("minValues") or {}).get(time)),
                last=_moment(((row["stats"] or {}).get("maxValues") or {}).get(time)),
            )
            for row in added.iter_rows(named=True)
        ], False

    def late(self, file: Appended, limit: timedelta) -> int:
        """Return how many samples of a file were written later than ``limit`` after their time.

        Raises:
            HistoryError: The file cannot be read.
        """
        oldest = file.written_at - limit
        if file.first >= oldest:
            return 0
        if file.last < oldest:
            return file.rows
        try:
            count = (
                pl.scan_parquet(self._address(file.path), storage_options=self._options)
                .filter(pl.col(self.table.time) < oldest)
                .select(pl.len())
                .collect()
                .item()
            )
        except (pl.exceptions.PolarsError, OSError) as error:
            raise HistoryError(f"{self.table.name}: {file.path} cannot be read: {error}") from error
        return int(count)

    def earliest(self) -> datetime | None:
        """Return a moment that no sample is before; None without samples."""
        return min((file.first for file in self._files()), default=None)

    def rows(self, since: datetime, until: datetime) -> int:
        """Return at most how many samples there are in a stretch of time."""
        return sum(file.rows for file in self._between(since, until))

    def read(self, spark: SparkSession, since: datetime, until: datetime) -> DataFrame:
        """Return the samples of a stretch of time as Spark reads them, of one version.

        Args:
            spark: The session.
            since: First moment, inclusive.
            until: Last moment, exclusive.

        Returns:
            Every column but ``date``; those that older files lack are null there.
        """
        paths = [_for_spark(self._address(file.path)) for file in self._between(since, until)]
        schema = ", ".join(
            f"`{column.name}` {column.spark_type}"
            for column in self.table.columns
            if column.name != "date"
        )
        if not paths:
            return spark.createDataFrame([], schema)
        rows = spark.read.schema(schema).parquet(*paths)
        time = rows[self.table.time]
        return rows.where((time >= since) & (time < until))

    def _between(self, since: datetime, until: datetime) -> list[Appended]:
        return [file for file in self._files() if file.first < until and file.last >= since]

    def _files(self) -> list[Appended]:
        if self._handle is None:
            return []
        actions = pl.DataFrame(self._handle.get_add_actions(flatten=True))
        names = actions.columns
        first, last = f"min.{self.table.time}", f"max.{self.table.time}"
        return [
            self._appended(
                path=row["path"],
                written=row["modification_time"],
                date=str(row["partition.date"]),
                rows=row["num_records"] if "num_records" in names else None,
                first=row[first] if first in names else None,
                last=row[last] if last in names else None,
            )
            for row in actions.iter_rows(named=True)
        ]

    def _appended(
        self,
        *,
        path: str,
        written: int,
        date: str,
        rows: int | None,
        first: datetime | None,
        last: datetime | None,
    ) -> Appended:
        """Describe a file; without statistics it may hold anything of its day."""
        day = datetime.fromisoformat(date).replace(tzinfo=UTC)
        return Appended(
            path=path,
            first=first or day,
            last=(last or day + timedelta(days=1)) + _STATISTICS_STEP,
            rows=rows or 0,
            written_at=datetime.fromtimestamp(written / 1000, UTC),
        )

    def _address(self, path: str) -> str:
        return f"{self._uri}/{unquote(path)}"


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).astimezone(UTC)


def _for_spark(address: str) -> str:
    """Return an address as Hadoop's file systems spell it."""
    for theirs, ours in (("s3://", "s3a://"), ("az://", "abfs://")):
        if address.startswith(theirs):
            return ours + address.removeprefix(theirs)
    return address
