"""What was added to a table since it was last looked at, at the cost of what was added."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake.errors import UnreadableTableError, one_line
from lake.schemas.model import Table
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


@dataclass(frozen=True, slots=True)
class _File:
    """A data file; what its statistics do not tell is None.

    Attributes:
        first: The first cluster in it, in order of their names.
        newest: The newest moment in it.
    """

    path: str
    first: str | None
    last: str | None
    newest: datetime | None

    def may_hold(self, cluster: str, since: datetime) -> bool:
        """Tell whether rows of a cluster from a moment on may be in it."""
        return not (
            (self.first is not None and self.first > cluster)
            or (self.last is not None and self.last < cluster)
            or (self.newest is not None and self.newest + _ROUNDED < since)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What was there at the last look.

    Attributes:
        commit: What tells that version's entry in the log from another one of the same number.
    """

    table_id: str
    version: int
    commit: tuple[int, int] | None
    paths: frozenset[str]


class Tail:
    """Follows one table; each look reads the data files that were not there at the last one."""

    def __init__(self, lake: Lake, table: Table) -> None:
        self._lake = lake
        self._table = table
        self._log = Path(lake.uri(table), "_delta_log") if lake.is_local else None
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
        try:
            followed = self._followed()
            if followed is not None:
                files, seen, is_anew = *followed, False
            else:
                handle = self._lake.handle(self._table)
                if handle is None:
                    was_there, self._seen = self._seen is not None, None
                    return Added(rows=self._nothing(), is_anew=True) if was_there else None
                files, seen, is_anew = self._looked_up(handle)
            if not is_anew and seen == self._seen:
                return None
            rows = self._rows_of(files, cluster, since_anew if is_anew else since)
        except (DeltaError, pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as e:
            raise UnreadableTableError(
                f"{self._table.name}: {self._lake.uri(self._table)} cannot be read: {one_line(e)}"
            ) from e
        self._seen = seen
        return Added(rows=rows, is_anew=is_anew)

    def _looked_up(self, handle: DeltaTable) -> tuple[list[_File], _Seen, bool]:
        """Return the files that are new to us, what is there now, and whether all is new."""
        version, before = handle.version(), self._seen
        now = _Seen(
            table_id=str(handle.metadata().id),
            version=version,
            commit=self._commit(version),
            paths=frozenset(),
        )
        is_anew = before is None or before.table_id != now.table_id or version < before.version
        files = list(_listed(handle, self._table))
        known = frozenset() if before is None or is_anew else before.paths
        seen = _Seen(
            table_id=now.table_id,
            version=version,
            commit=now.commit,
            paths=frozenset(file.path for file in files),
        )
        return [file for file in files if file.path not in known], seen, is_anew

    def _followed(self) -> tuple[list[_File], _Seen] | None:
        """Follow the log from the last look on, entry by entry; None where that is not possible.

        Reading an entry takes a hundredth of the time that updating a handle takes.
        """
        before = self._seen
        if self._log is None or before is None or before.commit is None:
            return None
        if self._commit(before.version) != before.commit:
            return None
        files: list[_File] = []
        removed: set[str] = set()
        version = before.version
        while (entry := self._log / _entry_name(version + 1)).exists():
            try:
                actions = [json.loads(line) for line in entry.read_text("utf-8").splitlines()]
            except ValueError:
                return None
            if any("metaData" in one or "protocol" in one for one in actions):
                return None
            files += [_added(one["add"], self._table) for one in actions if "add" in one]
            removed.update(one["remove"]["path"] for one in actions if "remove" in one)
            version += 1
        if version == before.version:
            return [], before
        seen = _Seen(
            table_id=before.table_id,
            version=version,
            commit=self._commit(version),
            paths=before.paths.union(file.path for file in files) - removed,
        )
        return [file for file in files if file.path in seen.paths - before.paths], seen

    def _commit(self, version: int) -> tuple[int, int] | None:
        if self._log is None:
            return None
        try:
            found = (self._log / _entry_name(version)).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def _nothing(self) -> pl.DataFrame:
        return pl.DataFrame(schema=self._table.polars_schema)

    def _rows_of(self, files: Iterable[_File], cluster: str, since: datetime) -> pl.DataFrame:
        root, types, time = self._lake.uri(self._table), self._table.polars_schema, self._table.time
        frames = []
        for file in files:
            if not file.may_hold(cluster, since):
                continue
            frame = pl.scan_parquet(
                f"{root}/{file.path}",
                storage_options=self._lake.options,
                hive_partitioning=False,
                glob=False,
            )
            there = {name: pl.col(name) for name in frame.collect_schema().names()}
            # Files are laid out by date: it is no column of theirs.
            there["date"] = pl.col(time).dt.date()
            frames.append(
                frame.filter(pl.col("cluster") == cluster, pl.col(time) >= since).select(
                    there.get(name, pl.lit(None)).cast(type_).alias(name)
                    for name, type_ in types.items()
                )
            )
        return pl.concat(frames).collect() if frames else self._nothing()


def _entry_name(version: int) -> str:
    return f"{version:020}.json"


def _added(action: dict[str, Any], table: Table) -> _File:
    """Return the file that an entry of the log adds."""
    statistics = json.loads(action.get("stats") or "{}")
    lowest, highest = statistics.get("minValues", {}), statistics.get("maxValues", {})
    newest = highest.get(table.time)
    return _File(
        action["path"],
        lowest.get("cluster"),
        highest.get("cluster"),
        None if newest is None else datetime.fromisoformat(newest),
    )


def _listed(handle: DeltaTable, table: Table) -> Iterator[_File]:
    """Yield all data files of a table."""
    actions = pl.DataFrame(handle.get_add_actions(flatten=True))
    wanted = ("path", "min.cluster", "max.cluster", f"max.{table.time}")
    there = set(actions.columns)
    for values in actions.select(
        pl.col(name) if name in there else pl.lit(None).alias(name) for name in wanted
    ).iter_rows():
        yield _File(*values)
