"""Rows of the lake about whole groups, as Spark's workers read them: some groups at a time."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil

import polars as pl

from lake.change_encoding.expand import POLL, expanded
from spark_metrics.sampling import begin
from spark_metrics.tasks import ROWS_AT_ONCE, Files, Share

GROUPS_AT_ONCE = 250
"""So many groups, about, are worked on at once: their samples must fit into a worker's memory."""

_CHUNK = "_chunk"
_WORTH_A_TASK = 50_000
"""With fewer rows than this, starting another task takes longer than it saves."""

Frames = dict[str, pl.DataFrame]


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of one table about groups.

    Attributes:
        files: The files with the rows; of a carried table those from before ``since``, too.
        since: First moment of the table's time column, inclusive.
        until: Last moment, exclusive.
        rows: How many rows they are, about.
        named: The column that names the group.
        wanted: Which rows; None: all of them.
    """

    files: Files
    since: datetime
    until: datetime
    rows: int
    named: str = "group"
    wanted: pl.Expr | None = None

    def shares(self, cores: int) -> list[Share]:
        """Return the groups by tasks: no more at once than a task can hold, as many as cores."""
        side_by_side = min(cores, ceil(self.rows / _WORTH_A_TASK))
        of = max(1, side_by_side, ceil(self.rows / ROWS_AT_ONCE))
        return [Share(self.named, number, of) for number in range(of)]

    def written(self, share: Share) -> pl.DataFrame:
        """Return the rows as they were written, of the groups of a share.

        Raises:
            HistoryError: A file cannot be read.
        """
        table = self.files.table
        time = pl.col(table.time)
        inside = (time >= begin(table, self.since)) & (time < self.until)
        if self.wanted is not None:
            inside &= self.wanted
        of_groups = pl.col(self.named).is_not_null() & replace(share, column=self.named).contains()
        if table.carried:
            of_groups |= pl.col("mark") == POLL
        columns = [name for name in table.polars_schema if name != "date"]
        return self.files.collect(columns, inside & of_groups)

    def whole(self, written: pl.DataFrame) -> pl.DataFrame:
        """Return rows with those that were left out, from ``since`` on, each of them once."""
        table = self.files.table
        if table.carried:
            return expanded(table, written, since=self.since)
        return table.distinct(written)


def groups_at_once(sources: Mapping[str, Source], share: Share) -> Iterator[Frames]:
    """Read the rows of the groups of a share; yield those of some groups at a time.

    Args:
        sources: The tables, by the names under which their rows are yielded.
        share: Which groups; its column is each source's own.

    Raises:
        HistoryError: A file cannot be read.
    """
    written = {name: source.written(share) for name, source in sources.items()}
    groups = max(rows[sources[name].named].n_unique() for name, rows in written.items())
    chunks = ceil(groups / GROUPS_AT_ONCE)
    parts = {name: _Parts(rows, sources[name].named, chunks) for name, rows in written.items()}
    del written
    # Samples are millions of tuples without a cycle: looking for one takes a fifth of the time.
    gc.disable()
    try:
        for chunk in range(chunks):
            yield {name: source.whole(parts[name].pop(chunk)) for name, source in sources.items()}
    finally:
        gc.enable()


class _Parts:
    """Rows by groups; those that name none, of polls, belong to all."""

    def __init__(self, rows: pl.DataFrame, named: str, chunks: int) -> None:
        numbered = rows.with_columns((pl.col(named).hash(seed=2) % chunks).alias(_CHUNK))
        self._of_all = rows.filter(pl.col(named).is_null())
        self._by_chunk = numbered.filter(pl.col(named).is_not_null()).partition_by(
            _CHUNK, as_dict=True, include_key=False
        )

    def pop(self, chunk: int) -> pl.DataFrame:
        """Return the rows of a chunk, once."""
        rows = self._by_chunk.pop((chunk,), None)
        return self._of_all if rows is None else pl.concat([self._of_all, rows])
