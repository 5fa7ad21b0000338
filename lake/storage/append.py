"""Appending rows to bronze tables through delta-rs, in atomic commits."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from lake.errors import LakeError, LeaseLostError, SchemaError, one_line
from lake.schemas.format_version import DESCRIPTION, refusal
from lake.schemas.model import Table
from lake.storage.file_encoding import appended, stream
from lake.storage.handles import Handles, OpenTable
from lake.storage.table_maintenance import Kept

_APPENDS_A_HANDLE = 20
_ATTEMPTS = 8
_APPEND = "/append"
"""Follows the name of a token where the table keeps which append of its holder was the last."""
_NAMES = 256
"""How many names of those without a token a table may have to keep; two seldom have the same."""
_TABLE_PROPERTIES: dict[str, str | None] = {
    # Each append reads what the log says since: with 50, an append takes a fifth longer.
    "delta.checkpointInterval": "20",
    **Kept().properties(),
}
_PATIENT = {"max_retries": "200", "retry_timeout": "600s"}
"""Rows that wait in memory can wait for an object store that is away for some minutes."""


@dataclass(slots=True, kw_only=True)
class _Appending:
    """A handle that rows are appended through; it holds on to 0.1 MiB of each commit it made."""

    table: OpenTable
    appends_left: int = _APPENDS_A_HANDLE


class Appender:
    """Appends to the tables under one address, and makes them."""

    def __init__(self, handles: Handles) -> None:
        self._handles = handles
        self._options = None if handles.options is None else _PATIENT | handles.options
        self._appending: dict[str, _Appending] = {}
        self._name = f"headroom/appender-{secrets.randbelow(_NAMES)}"

    def create(self, table: Table) -> None:
        """Make a table without a row, unless it is there.

        Raises:
            LakeError: It cannot be made.
        """
        empty = table.empty.to_arrow()
        try:
            self._make_folder(table)
            DeltaTable.create(
                self._handles.uri(table),
                empty.schema,
                mode="ignore",
                partition_by=["date"],
                description=DESCRIPTION,
                configuration=_TABLE_PROPERTIES,
                storage_options=self._handles.options,
                # Or it is committed onto the table of one that was quicker, and takes its place.
                commit_properties=CommitProperties(max_commit_retries=0),
            )
        except CommitFailedError:
            pass
        except (DeltaError, OSError, ValueError) as error:
            raise LakeError(f"{table.name}: cannot be made: {one_line(error)}") from error

    def append(self, table: Table, rows: pl.DataFrame, tokens: Mapping[str, int]) -> None:
        """Append rows in one commit.

        Args:
            table: A bronze table.
            rows: What ``conform`` returns.
            tokens: What the rows are of: their fencing token. Delta's log keeps them as versions of
                applications, and refuses a commit if another of one of these was quicker.

        Raises:
            LeaseLostError: Somebody with a larger token has written; nothing of it was.
            LakeError: The rows could not be written; nothing of them was.
        """
        append = {name + _APPEND: time.time_ns() for name in tokens or (self._name,)}
        for attempts_left in reversed(range(_ATTEMPTS)):
            try:
                self._write(self._target(table, tokens), table, rows, {**tokens, **append})
            except (DeltaError, OSError) as error:
                self._appending.pop(table.name, None)
                # Maintenance changed the table's properties, or somebody with another token was
                # quicker: nothing was written. Or an object store's answer was lost, the commit was
                # tried again, and the one that was quicker is our own.
                if isinstance(error, CommitFailedError):
                    if self._is_committed(table, append):
                        return
                    if attempts_left:
                        continue
                address = self._handles.uri(table)
                raise LakeError(
                    f"{table.name}: cannot append to {address}: {one_line(error)}"
                ) from error
            return

    def _is_committed(self, table: Table, append: Mapping[str, int]) -> bool:
        """Return whether an append is in the table whose answer was lost."""
        address = self._handles.uri(table)
        try:
            newest = DeltaTable(address, storage_options=self._options)
            return all(newest.transaction_version(name) == stamp for name, stamp in append.items())
        except TableNotFoundError:
            return False
        except (DeltaError, OSError) as error:
            raise LakeError(
                f"{table.name}: whether the rows are in {address} is unknown: {one_line(error)}"
            ) from error

    def _target(self, table: Table, tokens: Mapping[str, int]) -> DeltaTable | str:
        """Return what to append to, which these tokens may.

        Raises:
            LeaseLostError: Somebody with a larger token has written.
            LakeError: The table is of another version of this software.
        """
        self._make_folder(table)
        target = self._to_append_to(table)
        if tokens and isinstance(target, str):
            with suppress(TableNotFoundError):
                target = DeltaTable(target, storage_options=self._options)
        if isinstance(target, DeltaTable):
            if (refused := refusal(target.metadata().description)) is not None:
                raise LakeError(f"{table.name}: {self._handles.uri(table)}: {refused}")
            for name, token in tokens.items():
                if (target.transaction_version(name) or 0) > token:
                    raise LeaseLostError(f"{table.name}: another process writes rows of {name} now")
        return target

    def _write(
        self,
        target: DeltaTable | str,
        table: Table,
        rows: pl.DataFrame,
        versions: Mapping[str, int],
    ) -> None:
        write_deltalake(
            target,
            stream(table, rows),
            mode="append",
            partition_by=["date"],
            schema_mode="merge",
            description=DESCRIPTION,
            configuration=_TABLE_PROPERTIES,
            writer_properties=appended(table),
            storage_options=self._options,
            commit_properties=CommitProperties(
                app_transactions=[Transaction(name, one) for name, one in versions.items()]
            ),
        )

    def _make_folder(self, table: Table) -> None:
        if self._handles.is_local:
            Path(self._handles.uri(table)).mkdir(parents=True, exist_ok=True)

    def _to_append_to(self, table: Table) -> DeltaTable | str:
        """Return a handle that spares reading the table's log at each append, where that is safe.

        A commit onto a table that was deleted meanwhile would make a table without a beginning. On
        an object store the table is opened each time, since a look at it costs as much.
        """
        address = self._handles.uri(table)
        if not self._handles.is_local:
            return address
        kept = self._appending.pop(table.name, None)
        if kept is None or not kept.appends_left or not kept.table.is_up_to_date():
            try:
                kept = _Appending(table=OpenTable.of(address, DeltaTable(address), is_local=True))
            except TableNotFoundError:
                return address
        kept.appends_left -= 1
        self._appending[table.name] = kept
        return kept.table.handle


def conform(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame's rows with exactly the table's columns, in order and type.

    Raises:
        SchemaError: A column is unknown, has another type, or lacks a required value.
    """
    unknown = [name for name in frame.columns if name not in table.polars_schema]
    if unknown:
        raise SchemaError(f"{table.name}: has no column {', '.join(unknown)}")
    given = set(frame.columns)
    time = table.polars_schema[table.time]
    date = (pl.col(table.time) if table.time in given else pl.lit(None)).cast(time).dt.date()
    date = date.alias("date")
    try:
        rows = frame.select(
            date
            if name == "date"
            else pl.col(name).cast(type_)
            if name in given
            else pl.lit(None, type_).alias(name)
            for name, type_ in table.polars_schema.items()
        )
    except pl.exceptions.PolarsError as error:
        raise SchemaError(f"{table.name}: {error}") from error
    for name in table.required:
        if rows[name].null_count():
            raise SchemaError(f"{table.name}: {name} is missing in {rows[name].null_count()} rows")
    return rows
