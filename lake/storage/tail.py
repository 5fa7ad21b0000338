"""What was added to a table since it was last looked at: the data files that are new."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import polars as pl

from lake.schemas.model import Table
from lake.storage.data_files import scan_files
from lake.storage.store import Lake


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
        files = self._lake.files_of(self._table, handle)
        paths = files["path"].to_list()
        if before is not None and not is_anew:
            known = before.paths
            files = files[[row for row, path in enumerate(paths) if path not in known]]
        first = since_anew if is_anew else since
        added = scan_files(self._lake, self._table, files, cluster=cluster, since=first)
        rows = self._lake.collect(self._table, added)
        self._seen = _Seen(table_id=table_id, version=version, paths=frozenset(paths))
        return Added(rows=rows, is_anew=is_anew)
