"""Appending to the lake and reading from it, through delta-rs: no JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import polars as pl
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from config.settings import LakeSettings
from lake.change_encoding.expand import (
    HEARTBEAT,
    NEEDED,
    REWRITTEN_AFTER,
    expand,
)
from lake.errors import UnreadableTableError, one_line
from lake.schemas.model import Table, moment
from lake.storage.append import Appender, conform
from lake.storage.chunks import in_few_chunks
from lake.storage.current_store import CurrentStore
from lake.storage.handles import Handles

CLOCKS_DIFFER = timedelta(minutes=1)
"""Between who polls and who reads."""

_READ_TOGETHER = timedelta(minutes=2)
"""With five, collectors of 150,000 partitions hold 1.2 GB when they start, with two 0.75 GB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatistics:
    """What the newest version of a table consists of."""

    files: int
    size_bytes: int
    version: int
    written_at: datetime | None  # when it was committed; None where the log does not say


class Lake:
    """The tables under one address.

    Threads may share an instance. A handle on each table is kept, so that a read costs only what
    was committed since the last one.
    """

    def __init__(self, settings: LakeSettings) -> None:
        self.current = CurrentStore(settings)
        self.is_local = settings.is_local
        self._handles = Handles(settings)
        self._appender = Appender(self._handles)
        self._listed: dict[str, tuple[tuple[str, int], pl.DataFrame]] = {}

    def uri(self, table: Table) -> str:
        """Return the table's address."""
        return self._handles.uri(table)

    @property
    def options(self) -> dict[str, str] | None:
        """The options of its object store, secrets in the clear; None for a folder."""
        return self._handles.options

    @property
    def checkpoints_uri(self) -> str:
        """The address under which streaming jobs keep their progress."""
        return f"{self._handles.root}/_checkpoints"

    def exists(self, table: Table) -> bool:
        """Return whether anything was ever written to the table.

        Raises:
            UnreadableTableError: There is something, but it is not a readable table.
        """
        return self.handle(table) is not None

    def handle(self, table: Table) -> DeltaTable | None:
        """Return a handle of the table's newest version; None if the table does not exist.

        Raises:
            UnreadableTableError: There is something, but it is not a readable table.
        """
        return self._handles.newest(table)

    def create(self, table: Table) -> str:
        """Return Delta's id of the table; one that is not there is made, without a row.

        Raises:
            LakeError: It cannot be read or made.
        """
        handle = self.handle(table)
        if handle is None:
            self._appender.create(table)
            handle = self.handle(table)
        return "" if handle is None else str(handle.metadata().id)

    def files(self, table: Table) -> pl.DataFrame:
        """Return the files of the table's newest version, as its log describes them.

        Returns:
            ``num_records``, ``size_bytes``, ``partition.<column>``, ``min.<column>`` and
            ``max.<column>``, as far as the log says; no rows where there is no table.

        Raises:
            UnreadableTableError: The table's log cannot be read.
        """
        handle = self.handle(table)
        if handle is None:
            return pl.DataFrame(schema={"num_records": pl.Int64})
        return self.files_of(table, handle)

    def files_of(self, table: Table, handle: DeltaTable) -> pl.DataFrame:
        """Return the files of the version that a handle knows; listed once a version.

        Raises:
            UnreadableTableError: The table's log cannot be read.
        """
        try:
            version = (str(handle.metadata().id), handle.version())
            listed = self._listed.get(table.name)
            if listed is None or listed[0] != version:
                listed = (version, pl.DataFrame(handle.get_add_actions(flatten=True)))
                self._listed[table.name] = listed
        except (DeltaError, OSError, ValueError) as error:
            raise UnreadableTableError(
                f"{table.name}: {self.uri(table)} cannot be read: {one_line(error)}"
            ) from error
        return listed[1]

    def append(
        self, table: Table, frame: pl.DataFrame, tokens: Mapping[str, int] | None = None
    ) -> int:
        """Append rows in one atomic commit.

        Args:
            table: A bronze table.
            frame: Rows; columns that the table has and the frame lacks become null, ``date`` is
                derived. No rows is no commit.
            tokens: What the rows are of: the fencing token under which they are written. After a
                larger one none is written to the table.

        Raises:
            LeaseLostError: Somebody with a larger token has written; nothing of it was.
            SchemaError: The frame does not fit the table.
            LakeError: The rows could not be written; nothing of them was.
        """
        rows = conform(table, frame)
        if not rows.is_empty():
            self._appender.append(table, rows, tokens or {})
        return rows.height

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
        handle = self.handle(table)
        if handle is None:
            return table.empty.lazy()
        frame = pl.scan_delta(handle, storage_options=self._handles.options)
        if since is not None:
            frame = frame.filter(
                pl.col("date") >= since.date(), pl.col(table.time) >= moment(since)
            )
        if until is not None:
            frame = frame.filter(pl.col("date") <= until.date(), pl.col(table.time) < moment(until))
        if cluster is not None:
            frame = frame.filter(pl.col("cluster") == cluster)
        try:
            present = frame.collect_schema().names()
        except pl.exceptions.PolarsError as error:  # it lacks a column that it is narrowed by
            raise UnreadableTableError(
                f"{table.name}: {self.uri(table)} cannot be read: {one_line(error)}"
            ) from error
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
        wanted = list(table.polars_schema) if columns is None else columns
        if table.layer != "bronze":
            frame = self.scan(table, since=since, until=until, cluster=cluster)
            return self.collect(table, _narrowed(frame, predicates).select(wanted))
        before, first, needed = since, predicates, table.identity
        if table.change_only:
            # Which series are wanted can be asked of the files; what a row says, once it is there.
            before = None if since is None else since - REWRITTEN_AFTER
            first = tuple(one for one in predicates if is_of_series(table, one))
            asked = (name for one in predicates for name in one.meta.root_names())
            needed = (*asked, *table.series, *NEEDED)
        names = tuple(dict.fromkeys([*wanted, *needed]))
        rows = self.as_written(table, first, names, since=before, until=until, cluster=cluster)
        if not table.change_only:
            return table.distinct(rows).select(wanted)
        rows = expand(table, rows, since=since, until=until)
        return rows.filter(*predicates).sort(table.time, maintain_order=True).select(wanted)

    def as_written(
        self,
        table: Table,
        predicates: Sequence[pl.Expr],
        columns: Sequence[str],
        *,
        since: datetime | None,
        until: datetime | None,
        cluster: str | None,
    ) -> pl.DataFrame:
        """Return rows as they lie in the files, of a change-only table with the heartbeats.

        Raises:
            UnreadableTableError: The table or one of its files cannot be read.
        """
        frame = self.scan(table, since=since, until=until, cluster=cluster)
        return self.collect(table, asked(table, frame, predicates).select(columns))

    def written(
        self,
        table: Table,
        *,
        since: datetime,
        until: datetime,
        cluster: str,
        columns: Sequence[str],
    ) -> Iterator[pl.DataFrame]:
        """Read what was written to a ``change_only`` table, some minutes at a time.

        Args:
            table: The table.
            since: First moment, inclusive.
            until: Last moment, exclusive.
            cluster: The cluster.
            columns: Columns to return beside observed_at, stream and row_kind.

        Returns:
            Rows as they lie in the files, the oldest minutes first, and in any order within these.
            What they leave out, see ``lake.change_encoding.expand``.

        Raises:
            UnreadableTableError: The table or one of its files cannot be read.
        """
        wanted = list(dict.fromkeys([*columns, "observed_at", "stream", "row_kind"]))
        begin = since
        while begin < until:
            end = min(begin + _READ_TOGETHER, until)
            frame = self.scan(table, since=begin, until=end, cluster=cluster)
            rows = self.collect(table, frame.select(wanted))
            if not rows.is_empty():
                yield rows
            begin = end

    def latest(
        self,
        table: Table,
        *predicates: pl.Expr,
        cluster: str,
        now: datetime,
        within: timedelta,
        columns: list[str] | None = None,
    ) -> pl.DataFrame:
        """Read the newest poll's rows of one cluster.

        Args:
            table: A bronze table.
            predicates: Which rows are meant; all of them without any.
            cluster: The cluster.
            now: The present moment.
            within: How far back to look.
            columns: Those to return; all of them without any.

        Returns:
            The rows whose ``observed_at`` is the newest; none if there was no poll in that time.
            A poll of the future, by a clock that was wrong, is none of them.

        Raises:
            UnreadableTableError: The table or one of its files cannot be read.
        """
        since, until = now - within, now + CLOCKS_DIFFER
        if table.change_only and predicates:
            found = self.read(
                table, *predicates, since=since, until=until, cluster=cluster, columns=[table.time]
            ).lazy()
        else:
            found = self.scan(table, since=since, until=until, cluster=cluster).filter(*predicates)
        newest = self.collect(table, found.select(pl.col(table.time).max())).item()
        if newest is None:
            return table.empty if columns is None else table.empty.select(columns)
        at = pl.col(table.time) == newest
        return self.read(
            table, at, *predicates, since=newest, until=until, cluster=cluster, columns=columns
        )

    def statistics(self, table: Table) -> TableStatistics | None:
        """Return what the table's newest version consists of; None if it does not exist.

        Raises:
            UnreadableTableError: The table's log cannot be read.
        """
        handle = self.handle(table)
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
            return in_few_chunks(frame.collect())
        # A truncated Parquet file makes Polars panic instead of raising one of its errors.
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise UnreadableTableError(
                f"{table.name}: a file of {self.uri(table)} cannot be read: {one_line(error)}"
            ) from error


def is_of_series(table: Table, predicate: pl.Expr) -> bool:
    """Return whether a predicate only asks for series of a table."""
    return set(predicate.meta.root_names()) <= set(table.series)


def asked(table: Table, frame: pl.LazyFrame, predicates: Sequence[pl.Expr]) -> pl.LazyFrame:
    """Return the rows of some series as they lie in the files, with the heartbeats."""
    if predicates and table.change_only:
        return frame.filter(pl.all_horizontal(predicates) | (pl.col("row_kind") == HEARTBEAT))
    return _narrowed(frame, predicates)


def _narrowed(frame: pl.LazyFrame, predicates: Sequence[pl.Expr]) -> pl.LazyFrame:
    return frame.filter(*predicates) if predicates else frame
