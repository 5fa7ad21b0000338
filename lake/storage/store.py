"""Appending to the lake and reading from it, through delta-rs: no JVM."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from config.settings import LakeSettings
from lake.change_encoding.expand import HEARTBEAT, NEEDED, REWRITTEN_AFTER, expand
from lake.errors import LakeError, SchemaError, UnreadableTableError, one_line
from lake.schemas.model import Table
from lake.storage.current_store import CurrentStore
from lake.storage.file_encoding import appended, stream
from lake.storage.table_maintenance import Kept

_APPENDS_A_HANDLE = 20

_TABLE_PROPERTIES: dict[str, str | None] = {
    # Each append reads what the log says since: with 50, an append takes a fifth longer.
    "delta.checkpointInterval": "20",
    **Kept().properties(),
}
_ATTEMPTS = 8
_CLOCKS_DIFFER = timedelta(minutes=1)
"""Between who polls and who reads."""
_PATIENT = {"max_retries": "200", "retry_timeout": "600s"}
"""Rows that wait in memory can wait for an object store that is away for some minutes."""


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """What the newest version of a table consists of.

    Attributes:
        written_at: When it was committed; None where the log does not say.
    """

    files: int
    size_bytes: int
    version: int
    written_at: datetime | None


@dataclass(slots=True)
class _Appending:
    """A handle that rows are appended through; it holds on to 0.1 MiB of each commit it made."""

    handle: DeltaTable
    appends_left: int = _APPENDS_A_HANDLE


class Lake:
    """The tables under one address.

    Threads may share an instance. A handle on each table is kept, so that a read costs only what
    was committed since the last one.
    """

    def __init__(self, settings: LakeSettings) -> None:
        self.current = CurrentStore(settings)
        self._root = settings.uri.rstrip("/")
        self.is_local = settings.is_local
        self._options = settings.plain_storage_options() or None
        self._append_options = None if self._options is None else _PATIENT | self._options
        self._handles: dict[str, DeltaTable] = {}
        self._appending: dict[str, _Appending] = {}
        self._lock = threading.Lock()

    def uri(self, table: Table) -> str:
        """Return the table's address."""
        return f"{self._root}/{table.layer}/{table.name}"

    @property
    def options(self) -> dict[str, str] | None:
        """The options of its object store, secrets in the clear; None for a folder."""
        return self._options

    @property
    def checkpoints_uri(self) -> str:
        """The address under which streaming jobs keep their progress."""
        return f"{self._root}/_checkpoints"

    def exists(self, table: Table) -> bool:
        """Tell whether anything was ever written to the table.

        Raises:
            UnreadableTableError: There is something, but it is not a readable table.
        """
        return self._open(table) is not None

    def handle(self, table: Table) -> DeltaTable | None:
        """Return a handle of the table's newest version; None if the table does not exist.

        Raises:
            UnreadableTableError: There is something, but it is not a readable table.
        """
        return self._open(table)

    def create(self, table: Table) -> str:
        """Return Delta's id of the table; one that is not there is made, without a row.

        Raises:
            LakeError: It cannot be read or made.
        """
        handle = self._open(table)
        try:
            if handle is None:
                if self.is_local:
                    Path(self.uri(table)).mkdir(parents=True, exist_ok=True)
                empty = pl.DataFrame(schema=table.polars_schema).to_arrow()
                DeltaTable.create(
                    self.uri(table),
                    empty.schema,
                    mode="ignore",
                    partition_by=["date"],
                    configuration=_TABLE_PROPERTIES,
                    storage_options=self._options,
                )
                handle = self._open(table)
            return "" if handle is None else str(handle.metadata().id)
        except (DeltaError, OSError, ValueError) as error:
            raise LakeError(f"{table.name}: cannot be made: {one_line(error)}") from error

    def files(self, table: Table) -> pl.DataFrame:
        """Return the files of the table's newest version, as its log describes them.

        Returns:
            ``num_records``, ``size_bytes``, ``partition.<column>``, ``min.<column>`` and
            ``max.<column>``, as far as the log says; no rows where there is no table.

        Raises:
            UnreadableTableError: The table's log cannot be read.
        """
        handle = self._open(table)
        if handle is None:
            return pl.DataFrame(schema={"num_records": pl.Int64})
        try:
            return pl.DataFrame(handle.get_add_actions(flatten=True))
        except (DeltaError, OSError, ValueError) as error:
            raise UnreadableTableError(
                f"{table.name}: {self.uri(table)} cannot be read: {one_line(error)}"
            ) from error

    def append(self, table: Table, frame: pl.DataFrame) -> int:
        """Append rows in one atomic commit.

        Args:
            table: A bronze table.
            frame: Rows; columns that the table has and the frame lacks become null, ``date`` is
                derived. No rows is no commit.

        Raises:
            SchemaError: The frame does not fit the table.
            LakeError: The rows could not be written; nothing of them was.
        """
        rows = conform(table, frame)
        if rows.is_empty():
            return 0
        for attempts_left in reversed(range(_ATTEMPTS)):
            try:
                self._append(table, rows)
            except (DeltaError, OSError) as error:
                self._appending.pop(table.name, None)
                # Maintenance changed the table's properties meanwhile: nothing was written.
                if attempts_left and isinstance(error, CommitFailedError):
                    continue
                raise LakeError(
                    f"{table.name}: cannot append to {self.uri(table)}: {one_line(error)}"
                ) from error
            break
        return rows.height

    def _append(self, table: Table, rows: pl.DataFrame) -> None:
        if self.is_local:
            Path(self.uri(table)).mkdir(parents=True, exist_ok=True)
        write_deltalake(
            self._to_append_to(table),
            stream(rows),
            mode="append",
            partition_by=["date"],
            schema_mode="merge",
            configuration=_TABLE_PROPERTIES,
            writer_properties=appended(table),
            storage_options=self._append_options,
        )

    def _to_append_to(self, table: Table) -> DeltaTable | str:
        """Return a handle that spares reading the table's log at each append, where that is safe.

        A commit onto a table that was deleted meanwhile would make a table without a beginning. On
        an object store the table is opened each time, since a look at it costs as much.
        """
        if not self.is_local:
            return self.uri(table)
        kept = self._appending.get(table.name)
        if kept is None or not kept.appends_left or not self._is_there(table, kept.handle):
            self._appending.pop(table.name, None)
            try:
                kept = _Appending(DeltaTable(self.uri(table)))
            except TableNotFoundError:
                return self.uri(table)
            self._appending[table.name] = kept
        kept.appends_left -= 1
        return kept.handle

    def _is_there(self, table: Table, handle: DeltaTable) -> bool:
        """Tell whether the version that a handle knows is still in the table's folder."""
        commit = Path(self.uri(table), "_delta_log", f"{handle.version():020}.json")
        return not self.is_local or commit.exists()

    def _is_newest(self, table: Table, handle: DeltaTable) -> bool:
        """Tell whether a table in a folder has no newer version; elsewhere looking is not cheap."""
        following = Path(self.uri(table), "_delta_log", f"{handle.version() + 1:020}.json")
        return self.is_local and not following.exists()

    def scan(
        self,
        table: Table,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        cluster: str | None = None,
    ) -> pl.LazyFrame:
        """Return the table's rows, to be narrowed further before they are collected.

        Args:
            table: Any table.
            since: First moment (inclusive) of the table's time column.
            until: Last moment (exclusive).
            cluster: Only this cluster's rows.

        Returns:
            All columns of the definition; those that the files lack yet are null. A table that
            does not exist has no rows. Files outside the dates are not opened. Rows are as
            they lie in the files: those of a change-only table want
            ``lake.change_encoding.expand``, all others ``Table.distinct``.

        Raises:
            UnreadableTableError: The table's log cannot be read. Collecting a frame whose files
                are broken raises what Polars raises; ``read`` translates it.
        """
        handle = self._open(table)
        if handle is None:
            return pl.DataFrame(schema=table.polars_schema).lazy()
        frame = pl.scan_delta(handle, storage_options=self._options)
        if since is not None:
            frame = frame.filter(pl.col("date") >= since.date(), pl.col(table.time) >= since)
        if until is not None:
            frame = frame.filter(pl.col("date") <= until.date(), pl.col(table.time) < until)
        if cluster is not None:
            frame = frame.filter(pl.col("cluster") == cluster)
        present = frame.collect_schema().names()
        return frame.select(
            (pl.col(name) if name in present else pl.lit(None).alias(name)).cast(type_)
            for name, type_ in table.polars_schema.items()
        )

    def read(
        self,
        table: Table,
        *predicates: pl.Expr,
        since: datetime | None = None,
        until: datetime | None = None,
        cluster: str | None = None,
        columns: list[str] | None = None,
    ) -> pl.DataFrame:
        """Read rows; see ``scan`` for what the arguments mean.

        Rows that a change-only table leaves out while nothing changes are filled in. A sample that
        is stored twice is read once.

        Raises:
            UnreadableTableError: The table or one of its files cannot be read.
        """
        if table.change_only:
            return self._read_change_only(table, predicates, since, until, cluster, columns)
        frame = self.scan(table, since=since, until=until, cluster=cluster)
        if predicates:
            frame = frame.filter(*predicates)
        wanted = list(table.polars_schema) if columns is None else columns
        if table.layer != "bronze":
            return self.collect(table, frame.select(wanted))
        rows = self.collect(table, frame.select(list(dict.fromkeys([*wanted, *table.identity]))))
        return table.distinct(rows).select(wanted)

    def _read_change_only(
        self,
        table: Table,
        predicates: tuple[pl.Expr, ...],
        since: datetime | None,
        until: datetime | None,
        cluster: str | None,
        columns: list[str] | None,
    ) -> pl.DataFrame:
        before = None if since is None else since - REWRITTEN_AFTER
        frame = self.scan(table, since=before, until=until, cluster=cluster)
        # Which series are wanted can be asked of the files; what a row says, only once it is there.
        first = [one for one in predicates if set(one.meta.root_names()) <= set(table.series)]
        if first:
            frame = frame.filter(pl.all_horizontal(first) | (pl.col("row_kind") == HEARTBEAT))
        wanted = list(table.polars_schema) if columns is None else columns
        asked = [name for one in predicates for name in one.meta.root_names()]
        frame = frame.select(list(dict.fromkeys([*wanted, *asked, *table.series, *NEEDED])))
        rows = expand(table, self.collect(table, frame), since=since, until=until)
        return rows.filter(*predicates).sort(table.time, maintain_order=True).select(wanted)

    def latest(
        self,
        table: Table,
        *predicates: pl.Expr,
        cluster: str,
        now: datetime,
        within: timedelta,
    ) -> pl.DataFrame:
        """Read the newest poll's rows of one cluster.

        Args:
            table: A bronze table.
            predicates: Which rows are meant; all of them without any.
            cluster: The cluster.
            now: The present moment.
            within: How far back to look.

        Returns:
            The rows whose ``observed_at`` is the newest; none if there was no poll in that time.
            A poll of the future, by a clock that was wrong, is none of them.

        Raises:
            UnreadableTableError: The table or one of its files cannot be read.
        """
        since, until = now - within, now + _CLOCKS_DIFFER
        if table.change_only and predicates:
            found = self.read(
                table, *predicates, since=since, until=until, cluster=cluster, columns=[table.time]
            ).lazy()
        else:
            found = self.scan(table, since=since, until=until, cluster=cluster).filter(*predicates)
        newest = self.collect(table, found.select(pl.col(table.time).max())).item()
        if newest is None:
            return pl.DataFrame(schema=table.polars_schema)
        at = pl.col(table.time) == newest
        return self.read(table, at, *predicates, since=newest, until=until, cluster=cluster)

    def statistics(self, table: Table) -> TableStatistics | None:
        """Return what the table's newest version consists of; None if it does not exist.

        Raises:
            UnreadableTableError: The table's log cannot be read.
        """
        handle = self._open(table)
        if handle is None:
            return None
        try:
            sizes = pl.DataFrame(handle.get_add_actions(flatten=True))["size_bytes"]
            written = handle.history(1)[0].get("timestamp")
        except (DeltaError, OSError, ValueError) as error:
            raise UnreadableTableError(
                f"{table.name}: {self.uri(table)} cannot be read: {one_line(error)}"
            ) from error
        return TableStatistics(
            files=sizes.len(),
            size_bytes=int(sizes.sum()),
            version=handle.version(),
            written_at=None if written is None else datetime.fromtimestamp(written / 1000, UTC),
        )

    def collect(self, table: Table, frame: pl.LazyFrame) -> pl.DataFrame:
        """Return the rows of a frame that ``scan`` returned, narrowed further.

        Raises:
            UnreadableTableError: A file of the table cannot be read.
        """
        try:
            return frame.collect()
        # A truncated Parquet file makes Polars panic instead of raising one of its errors.
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise UnreadableTableError(
                f"{table.name}: a file of {self.uri(table)} cannot be read: {one_line(error)}"
            ) from error

    def _open(self, table: Table) -> DeltaTable | None:
        """Return a handle of the newest version, or None if the table does not exist."""
        with self._lock:
            handle = self._handles.get(table.name)
            try:
                if handle is None or not self._is_there(table, handle):
                    handle = DeltaTable(self.uri(table), storage_options=self._options)
                    self._handles[table.name] = handle
                elif not self._is_newest(table, handle):
                    handle.update_incremental()
            except TableNotFoundError:
                self._handles.pop(table.name, None)
                return None
            except (DeltaError, OSError, ValueError) as error:
                self._handles.pop(table.name, None)
                raise UnreadableTableError(
                    f"{table.name}: {self.uri(table)} cannot be read: {one_line(error)}"
                ) from error
            return handle


def conform(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame's rows with exactly the table's columns, in order and type.

    Raises:
        SchemaError: A column is unknown, has another type, or lacks a required value.
    """
    unknown = [name for name in frame.columns if name not in table.polars_schema]
    if unknown:
        raise SchemaError(f"{table.name}: has no column {', '.join(unknown)}")
    given = set(frame.columns)
    try:
        rows = frame.select(
            pl.col(name).cast(type_) if name in given else pl.lit(None, type_).alias(name)
            for name, type_ in table.polars_schema.items()
            if name != "date"
        ).with_columns(pl.col(table.time).dt.date().alias("date"))
    except pl.exceptions.PolarsError as error:
        raise SchemaError(f"{table.name}: {error}") from error
    rows = rows.select(table.polars_schema.names())
    for name in table.required:
        if rows[name].null_count():
            raise SchemaError(f"{table.name}: {name} is missing in {rows[name].null_count()} rows")
    return rows
