"""What was added to a table since it was last looked at: the data files that are new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl
from deltalake.exceptions import DeltaError

from lake.errors import UnreadableTableError, one_line
from lake.schemas.model import Table, moment
from lake.storage.store import Lake

_ROUNDED = timedelta(milliseconds=1)
"""Statistics of a file tell its newest moment in whole milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """Rows that were added to a table.

    Attributes:
        rows: The rows, as they were written (see ``lake.change_encoding.expand``). After a
            compaction some may have been there before.
        is_anew: Whether the table is another one than before, or these are its first rows: what
            was read earlier is no part of it.
    """

    rows: pl.DataFrame
    is_anew: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A data file; what its statistics do not tell is None."""

    path: str
    first: str | None  # the first cluster in it, in order of their names
    last: str | None
    newest: datetime | None  # the newest moment in it

    def may_hold(self, cluster: str, since: datetime) -> bool:
        """Return whether rows of a cluster from a moment on may be in it."""
        return not (
            (self.first is not None and self.first > cluster)
            or (self.last is not None and self.last < cluster)
            or (self.newest is not None and self.newest + _ROUNDED < since)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What was there at the last look."""

    table_id: str
    version: int
    paths: frozenset[str]


class Tail:
    """Follows one table; each look reads the data files that were not there at the last one."""

    def __init__(self, lake: Lake, table: Table) -> None:
        self._lake = lake
        self._table = table
        self._seen: _Seen | None = None

    def read(self, cluster: str, since: datetime, *, since_anew: datetime) -> Added | None:
        """Return the rows of a cluster that were added; None where nothing was.

        Args:
            cluster: The cluster.
            since: Rows that are older are left out.
            since_anew: The same, where all rows are new.

        Raises:
            UnreadableTableError: The table or one of its files cannot be read. The next look
                reads again what this one should have.
        """
        handle, before = self._lake.handle(self._table), self._seen
        if handle is None:
            self._seen = None
            return None if before is None else Added(rows=self._table.empty, is_anew=True)
        table_id, version = str(handle.metadata().id), handle.version()
        is_anew = before is None or before.table_id != table_id or version < before.version
        if before is not None and not is_anew and version == before.version:
            return None
        try:
            files = self._lake.files_of(self._table, handle)
            paths = files["path"].to_list()
            if before is not None and not is_anew:
                known = before.paths
                files = files[[row for row, path in enumerate(paths) if path not in known]]
            found = _files(files, self._table)
            rows = self._rows_of(found, cluster, since_anew if is_anew else since)
        except (DeltaError, pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as e:
            raise UnreadableTableError(
                f"{self._table.name}: {self._lake.uri(self._table)} cannot be read: {one_line(e)}"
            ) from e
        self._seen = _Seen(table_id=table_id, version=version, paths=frozenset(paths))
        return Added(rows=rows, is_anew=is_anew)

    def _rows_of(self, files: Iterable[_File], cluster: str, since: datetime) -> pl.DataFrame:
        root, types, time = self._lake.uri(self._table), self._table.polars_schema, self._table.time
        frames = []
        wanted = (pl.col("cluster") == cluster, pl.col(time) >= moment(since))
        for file in files:
            if not file.may_hold(cluster, since):
                continue
            frame = pl.scan_parquet(
                f"{root}/{file.path}",
                storage_options=self._lake.options,
                hive_partitioning=False,
                glob=False,
            )
            there = frame.collect_schema()
            # Files are laid out by date: it is no column of theirs.
            frames.append(
                frame.filter(wanted).select(
                    pl.col(time).dt.date().alias(name)
                    if name == "date"
                    else pl.col(name)
                    if there.get(name) == type_
                    else (pl.col(name) if name in there else pl.lit(None)).cast(type_).alias(name)
                    for name, type_ in types.items()
                )
            )
        return pl.concat(frames).collect() if frames else self._table.empty


def _files(actions: pl.DataFrame, table: Table) -> Iterator[_File]:
    """Yield data files as the log of their table describes them."""
    wanted = ("path", "min.cluster", "max.cluster", f"max.{table.time}")
    there = set(actions.columns)
    for path, first, last, newest in actions.select(
        pl.col(name) if name in there else pl.lit(None).alias(name) for name in wanted
    ).iter_rows():
        yield _File(path=path, first=first, last=last, newest=newest)
