"""Change-only encoding: leaving out of polls what ``expand`` brings back."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from lake.change_encoding.expand import HEARTBEAT, REWRITTEN_AFTER, TOMBSTONE, series_ids
from lake.schemas.model import Table

_SAMPLE = ("cluster", "observed_at", "poll_id", "date", "stream", "row_kind")


@dataclass(slots=True, kw_only=True)
class _Stream:
    """What the polls of one source have written.

    Attributes:
        last: Each series that is there: ``_series``, ``_values`` and ``_written_at``.
        names: Their columns, and ``_series``. Apart, and from when they were first seen: most of
            the memory is in them, and they do not change.
    """

    id: str
    at: datetime
    last: pl.DataFrame
    names: pl.DataFrame


class ChangeEncoder:
    """Leaves out of the polls of one table what a reader can fill in.

    Each poll must be written before the next one of its source is encoded; if writing fails, call
    ``forget``.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._names = [
            column.name
            for column in table.columns
            if column.name not in (*_SAMPLE, *table.series, *table.volatile)
        ]
        self._streams: dict[str, _Stream] = {}

    def forget(self, source: str) -> None:
        """Begin a new stream with the next poll of a source: what it wrote last may be lost."""
        self._streams.pop(source, None)

    def forget_cluster(self, cluster: str) -> None:
        """Forget the streams of every source of a cluster."""
        for source in [each for each in self._streams if each.startswith(f"{cluster}/")]:
            self.forget(source)

    def compact(self, source: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Return what of a poll must be written.

        Args:
            source: Who polled, and which cluster.
            rows: All rows of the poll, at least one, with cluster, observed_at and poll_id.
        """
        at: datetime = rows["observed_at"][0]
        values = [name for name in self._names if name in rows.columns]
        # Beside the rows, not in them: joins then move few columns instead of all.
        ids = series_ids(rows, self._table.series)
        found = pl.DataFrame([ids, _hashes(rows, values).alias("_values")])
        named = pl.concat([rows.select(self._table.series), ids.to_frame()], how="horizontal")
        stream = self._streams.get(source)
        if stream is None or stream.at.date() != at.date() or at <= stream.at:
            stream = _Stream(id=uuid.uuid4().hex, at=at, last=found.head(0), names=named)
            written, gone, names = rows, named.head(0), named.unique("_series")
            # As if written before: not all are due at once again, but those of a group or a topic,
            # whose names and members a file then holds once.
            together = _hashes(rows, [name for name in self._table.series if name != "cluster"][:1])
            spread = (together % int(REWRITTEN_AFTER.total_seconds())).alias("_spread")
            earlier = _stamp(at) - pl.duration(seconds="_spread")
            found = found.with_columns(spread).with_columns(earlier).drop("_spread")
        else:
            before = stream.last.rename({"_values": "_before"})
            found = found.join(before, on="_series", how="left", maintain_order="left")
            is_due = found.select(
                pl.col("_before").ne_missing(pl.col("_values"))
                | (pl.col("_written_at") <= at - REWRITTEN_AFTER)
            ).to_series()
            written = rows.filter(is_due)
            names, gone = _renamed(stream.names, named, found)
            written_at = pl.when(is_due).then(_stamp(at)).otherwise("_written_at")
            found = found.drop("_before").with_columns(written_at.alias("_written_at"))
        last = found.unique("_series", keep="last")
        self._streams[source] = _Stream(id=stream.id, at=at, last=last, names=names)
        poll = rows.head(1).select("cluster", "observed_at", "poll_id")
        parts = [
            poll.with_columns(pl.lit(HEARTBEAT).alias("row_kind")),
            gone.select(self._table.series)
            .drop("cluster")
            .join(poll, how="cross")
            .with_columns(pl.lit(TOMBSTONE).alias("row_kind")),
            written,
        ]
        return pl.concat(parts, how="diagonal").with_columns(pl.lit(stream.id).alias("stream"))


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
