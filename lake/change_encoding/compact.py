"""Leaving out of polls what readers fill in; see ``lake.change_encoding.expand``."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from lake.change_encoding.expand import CARRIED_FOR, GONE, POLL, WHOLE, series_ids
from lake.schemas.model import Table

_SAMPLE = ("cluster", "observed_at", "poll_id", "date", "run", "mark")


@dataclass(slots=True)
class _Run:
    """What a stream of polls has written.

    Attributes:
        last: Each series that is there: ``_series``, ``_values``, ``_lasting``, ``_written_at``
            (when it was last written whole).
        names: Their columns, and ``_series``. Apart, and from when they were first seen: most of
            the memory is in them, and they do not change.
    """

    name: str
    at: datetime
    last: pl.DataFrame
    names: pl.DataFrame


class Thinning:
    """Leaves out of the polls of one table what a reader can fill in.

    A stream is the polls of one source about one cluster. Each poll must be written before the next
    one of its stream is thinned; if writing fails, call ``forget``.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._names = [
            column.name
            for column in table.columns
            if column.name not in (*_SAMPLE, *table.series, *table.volatile, *table.lasting)
        ]
        self._runs: dict[str, _Run] = {}

    def forget(self, stream: str) -> None:
        """Begin a new run with the next poll of a stream: what it wrote last may be lost."""
        self._runs.pop(stream, None)

    def thinned(self, stream: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Return what of a poll must be written.

        Args:
            stream: Whose poll it is.
            rows: All rows of the poll, at least one, with cluster, observed_at and poll_id.
        """
        at: datetime = rows["observed_at"][0]
        values = [name for name in self._names if name in rows.columns]
        lasting = [name for name in self._table.lasting if name in rows.columns]
        # Beside the rows, not in them: joins then move four columns instead of all.
        found = pl.DataFrame(
            [
                series_ids(rows, self._table.series),
                _hashes(rows, values).alias("_values"),
                _hashes(rows, lasting).alias("_lasting"),
            ]
        )
        named = pl.concat(
            [rows.select(self._table.series), found["_series"].to_frame()], how="horizontal"
        )
        run = self._runs.get(stream)
        if run is None or run.at.date() != at.date() or at <= run.at:
            run = _Run(uuid.uuid4().hex, at, found.head(0), named)
            written = rows.with_columns(_mark(pl.lit(bool(lasting))))
            # As if written before: not all are due at once again, but those of a group or a topic,
            # whose names and members a file then holds once.
            together = _hashes(rows, [name for name in self._table.series if name != "cluster"][:1])
            spread = (together % int(CARRIED_FOR.total_seconds())).alias("_spread")
            earlier = _stamp(at) - pl.duration(seconds="_spread")
            found = found.with_columns(spread).with_columns(earlier).drop("_spread")
            names, gone = named.unique("_series"), named.head(0)
        else:
            before = run.last.rename({"_values": "_before", "_lasting": "_lasted"})
            found = found.join(before, on="_series", how="left", maintain_order="left")
            due = found.select(
                whole=pl.col("_before").is_null()
                | (pl.col("_lasted") != pl.col("_lasting"))
                | (pl.col("_written_at") <= at - CARRIED_FOR),
                changed=pl.col("_before") != pl.col("_values"),
            )
            written = self._rows(rows, lasting, due)
            names, gone = _renamed(run.names, named, found)
            found = found.drop("_before", "_lasted").with_columns(
                pl.when(due["whole"]).then(_stamp(at)).otherwise("_written_at").alias("_written_at")
            )
        self._runs[stream] = _Run(run.name, at, found.unique("_series", keep="last"), names)
        poll = rows.head(1).select("cluster", "observed_at", "poll_id")
        parts = [
            poll.with_columns(pl.lit(POLL).alias("mark")),
            gone.select(self._table.series)
            .drop("cluster")
            .join(poll, how="cross")
            .with_columns(pl.lit(GONE).alias("mark")),
            written,
        ]
        return pl.concat(parts, how="diagonal").with_columns(pl.lit(run.name).alias("run"))

    def _rows(self, rows: pl.DataFrame, lasting: list[str], due: pl.DataFrame) -> pl.DataFrame:
        """Return the rows that are whole or changed; only the former with what is lasting."""
        is_due = due["whole"] | due["changed"].fill_null(True)
        if not lasting:
            return rows.filter(is_due)
        is_whole = due["whole"].filter(is_due)
        return rows.filter(is_due).with_columns(
            *(pl.when(is_whole).then(name).alias(name) for name in lasting),
            _mark(is_whole),
        )


def _mark(is_whole: pl.Series | pl.Expr) -> pl.Expr:
    return pl.when(is_whole).then(pl.lit(WHOLE)).alias("mark")


def _hashes(rows: pl.DataFrame, columns: list[str]) -> pl.Series:
    if not columns:
        return pl.repeat(0, rows.height, dtype=pl.UInt64, eager=True)
    return rows.select(columns).hash_rows()


def _renamed(
    names: pl.DataFrame, named: pl.DataFrame, found: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the names of the series of a poll, and of those that were there before it."""
    gone = names.join(found, on="_series", how="anti")
    new = named.filter(found["_before"].is_null())
    if new.is_empty() and gone.is_empty():
        return names, gone
    stay = names.join(found, on="_series", how="semi")
    return pl.concat([stay, new.unique("_series")]).rechunk(), gone


def _stamp(at: datetime) -> pl.Expr:
    return pl.lit(at).cast(pl.Datetime("us", "UTC")).alias("_written_at")
