"""The files of a Delta table, and those that were added since a version of it.

Both come from the table's log through delta-rs: milliseconds, and no Spark job. Workers then read
exactly these files, so that a round sees one version of a table however often it looks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from config.settings import LakeSettings
from lake.errors import one_line
from spark_metrics.errors import HistoryError

MOST_COMMITS = 5_000
"""When more commits than these are new, all of the table's files are looked through instead."""


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
class File:
    """One data file of a table.

    Attributes:
        path: Its path in the table, as the log has it.
        partition: The values of the columns that the table is partitioned by.
        rows: How many rows it holds, 0 if the log does not say.
        size_bytes: Its size.
        written_at: When it was written.
        low: The lowest value of columns, as far as the log says.
        high: The highest value.
    """

    path: str
    partition: Mapping[str, str]
    rows: int
    size_bytes: int
    written_at: datetime
    low: Mapping[str, Any]
    high: Mapping[str, Any]

    def lowest(self, column: str) -> datetime | None:
        """Return the lowest moment in a column, None if the log does not say."""
        return _moment(self.low.get(column))

    def highest(self, column: str) -> datetime | None:
        """Return the highest moment in a column, None if the log does not say."""
        return _moment(self.high.get(column))


class TableFiles:
    """A Delta table's files by its log."""

    def __init__(self, uri: str, settings: LakeSettings) -> None:
        """Prepare; the table need not exist.

        Args:
            uri: The table's address.
            settings: How to reach it.
        """
        self.uri = uri
        self.options = settings.plain_storage_options() or None
        self._handle: DeltaTable | None = None

    def position(self) -> Position | None:
        """Look for new commits; return the newest position, None while there is no table.

        Raises:
            HistoryError: The table cannot be read.
        """
        try:
            if self._handle is None:
                self._handle = DeltaTable(self.uri, storage_options=self.options)
            else:
                self._handle.update_incremental()
            return Position(str(self._handle.metadata().id), self._handle.version())
        except TableNotFoundError:
            self._handle = None
            return None
        except (DeltaError, OSError, ValueError) as error:
            self._handle = None
            raise HistoryError(f"{self.uri} cannot be read: {one_line(error)}") from error

    def current(self) -> Iterator[File]:
        """Yield the files of the version that ``position`` returned last."""
        if self._handle is None:
            return
        actions = pl.DataFrame(self._handle.get_add_actions(flatten=True))
        prefixes = {"partition": "partition.", "min": "min.", "max": "max."}
        by_kind = {
            kind: [name for name in actions.columns if name.startswith(prefix)]
            for kind, prefix in prefixes.items()
        }
        for row in actions.iter_rows(named=True):
            partition, low, high = (
                {name.removeprefix(prefixes[kind]): row[name] for name in names}
                for kind, names in by_kind.items()
            )
            yield File(
                path=row["path"],
                partition={name: str(value) for name, value in partition.items()},
                rows=row.get("num_records") or 0,
                size_bytes=row["size_bytes"],
                written_at=_written(row["modification_time"]),
                low=low,
                high=high,
            )

    def columns(self) -> set[str]:
        """Return the names of the columns in that version; none without a table."""
        return set() if self._handle is None else {one.name for one in self._handle.schema().fields}

    def added(self, since: Position | None, until: Position) -> list[File] | None:
        """Return the files with rows that were added after a position.

        A compaction changes no rows and says so in the log: its files are not among them.

        Args:
            since: Where the last read ended.
            until: What ``position`` returned last.

        Returns:
            The files; None if that cannot be told, and every file must be taken for new.

        Raises:
            HistoryError: The log cannot be read.
        """
        if since is None or since.table_id != until.table_id:
            return None
        if not 0 <= until.version - since.version <= MOST_COMMITS:
            return None
        if since.version == until.version:
            return []
        commits = [
            f"{self.uri}/_delta_log/{version:020}.json"
            for version in range(since.version + 1, until.version + 1)
        ]
        try:
            lines = [line for commit in commits for line in self._lines(commit)]
        except FileNotFoundError:  # old commits are removed once a checkpoint has them
            return None
        except (pl.exceptions.PolarsError, OSError) as error:
            raise HistoryError(f"{self.uri}: its log cannot be read: {one_line(error)}") from error
        actions = [json.loads(line) for line in lines if line.startswith('{"add"')]
        return [
            _of_action(action["add"]) for action in actions if action["add"].get("dataChange", True)
        ]

    def address(self, file: File) -> str:
        """Return a file's own address."""
        return f"{self.uri}/{unquote(file.path)}"

    def _lines(self, commit: str) -> list[str]:
        if "://" not in commit:
            with open(commit, encoding="utf-8") as handle:
                return handle.read().splitlines()
        frame = pl.scan_csv(
            commit,
            has_header=False,
            separator="\x01",
            quote_char=None,
            new_columns=["line"],
            storage_options=self.options,
        )
        return [str(line) for line in frame.collect()["line"]]


def for_spark(address: str) -> str:
    """Return an address as Hadoop's file systems spell it."""
    return "s3a://" + address.removeprefix("s3://") if address.startswith("s3://") else address


def _of_action(add: dict[str, Any]) -> File:
    statistics = json.loads(add.get("stats") or "{}")
    return File(
        path=add["path"],
        partition={name: str(value) for name, value in add["partitionValues"].items()},
        rows=statistics.get("numRecords") or 0,
        size_bytes=add["size"],
        written_at=_written(add["modificationTime"]),
        low=statistics.get("minValues") or {},
        high=statistics.get("maxValues") or {},
    )


def _written(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def _moment(value: Any) -> datetime | None:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    return value.astimezone(UTC) if isinstance(value, datetime) else None
