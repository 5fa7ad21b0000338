"""The data files of a table: what the log says of them, and their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from lake.errors import UnreadableTableError, one_line
from lake.schemas.model import Table, moment
from lake.storage.store import Lake

_ROUNDED = timedelta(milliseconds=1)
"""Statistics of a file tell its newest moment in whole milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A data file; what its statistics do not tell is None."""

    path: str
    first: str | None  # the first cluster in it, in order of their names
    last: str | None
    newest: datetime | None  # the newest moment in it

    def may_hold(self, cluster: str | None, since: datetime) -> bool:
        """Return whether rows of a cluster from a moment on may be in it."""
        return not (
            (cluster is not None and self.first is not None and self.first > cluster)
            or (cluster is not None and self.last is not None and self.last < cluster)
            or (self.newest is not None and self.newest + _ROUNDED < since)
        )


def scan_files(
    lake: Lake, table: Table, actions: pl.DataFrame, *, cluster: str | None, since: datetime
) -> pl.LazyFrame:
    """Return the rows of some data files, as ``Lake.scan`` returns those of a whole table.

    Args:
        lake: The lake.
        table: The table.
        actions: The files, of those that ``Lake.files_of`` returns.
        cluster: Only this cluster's rows; those of all without one.
        since: First moment, inclusive.

    Raises:
        UnreadableTableError: A file cannot be read. Collecting the frame raises what Polars
            raises; ``Lake.collect`` translates it.
    """
    wanted = [pl.col(table.time) >= moment(since)]
    if cluster is not None:
        wanted.append(pl.col("cluster") == cluster)
    frames = [
        _columns(lake, table, file.path, wanted)
        for file in _files(actions, table)
        if file.may_hold(cluster, since)
    ]
    return pl.concat(frames) if frames else table.empty.lazy()


def _columns(lake: Lake, table: Table, path: str, wanted: Sequence[pl.Expr]) -> pl.LazyFrame:
    """Return rows of a file with the columns of the table's definition."""
    address = f"{lake.uri(table)}/{path}"
    try:
        frame = pl.scan_parquet(
            address, storage_options=lake.options, hive_partitioning=False, glob=False
        )
        there = frame.collect_schema()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise UnreadableTableError(
            f"{table.name}: {address} cannot be read: {one_line(error)}"
        ) from error
    # Files are laid out by date: it is no column of theirs.
    return frame.filter(wanted).select(
        pl.col(table.time).dt.date().alias(name)
        if name == "date"
        else pl.col(name)
        if there.get(name) == type_
        else (pl.col(name) if name in there else pl.lit(None)).cast(type_).alias(name)
        for name, type_ in table.polars_schema.items()
    )


def _files(actions: pl.DataFrame, table: Table) -> Iterator[_File]:
    """Yield data files as the log of their table describes them."""
    wanted = ("path", "min.cluster", "max.cluster", f"max.{table.time}")
    there = set(actions.columns)
    for path, first, last, newest in actions.select(
        pl.col(name) if name in there else pl.lit(None).alias(name) for name in wanted
    ).iter_rows():
        yield _File(path=path, first=first, last=last, newest=newest)
