"""Change-only encoding: how the rows come back that were left out while nothing changed.

Most partitions of a large cluster are idle. Of a ``change_only`` table a collector writes a row
when something of it changed, and anew after ``REWRITTEN_AFTER`` at the latest. The rows of one
collector form a stream (column ``stream``): its first poll is complete, and so is the first one of
each date. Column ``row_kind`` tells rows apart:

- null: a sample. It stands for all polls of its stream until the next row of its series.
- ``heartbeat``: a poll was read. It has no series; what was not written in it is as it was last.
- ``tombstone``: its series is no more.

Rows without a stream are complete by themselves. A reader starts ``REWRITTEN_AFTER`` before the
time that it wants, and calls ``expand``.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl

from lake.schemas.model import Table

REWRITTEN_AFTER = timedelta(minutes=15)
"""A row never stands for a poll that is this much later, or more."""

HEARTBEAT = "heartbeat"
TOMBSTONE = "tombstone"
NEEDED = ("cluster", "observed_at", "poll_id", "stream", "row_kind")
"""Columns that ``expand`` cannot do without, beside the table's series."""

_POLL = ("cluster", "stream", "observed_at")


def series_ids(rows: pl.DataFrame, series: tuple[str, ...]) -> pl.Series:
    """Return a number for each row, the same for rows of the same series."""
    return rows.select(series).hash_rows().alias("_series")


def expand(
    table: Table,
    rows: pl.DataFrame,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> pl.DataFrame:
    """Return one row for each series and poll, as if every poll had been written whole.

    Args:
        table: A ``change_only`` table.
        rows: Its rows from ``REWRITTEN_AFTER`` before ``since``, with the series and ``NEEDED``.
        since: First moment of the rows to return, inclusive.
        until: Last moment, exclusive.

    Returns:
        The same columns, samples alone, each once. Complete polls come first; the rows of streams
        follow, each series' in the order of time.
    """
    inside = pl.lit(True)
    if since is not None:
        inside &= pl.col("observed_at") >= since
    if until is not None:
        inside &= pl.col("observed_at") < until
    complete = table.distinct(rows.filter(pl.col("stream").is_null(), inside))
    of_streams = rows.filter(pl.col("stream").is_not_null())
    if of_streams.is_empty():
        return complete
    polls = _polls(of_streams, inside)
    standing = _standing(table, of_streams, polls)
    each = standing.select("_row", pl.int_ranges("_from", "_until").alias("_poll")).explode("_poll")
    times = [name for name in ("observed_at", "poll_id", "date") if name in rows.columns]
    parts = [of_streams.drop(times)[each["_row"]], polls.select(times)[each["_poll"]]]
    return pl.concat([complete, pl.concat(parts, how="horizontal").select(rows.columns)])


def expand_next(table: Table, before: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return a poll whole, from the whole poll before it: what ``expand`` does, in a tenth.

    Args:
        table: A ``change_only`` table.
        before: All rows of the poll before in the same stream, whole.
        rows: The rows that were written of the poll.
    """
    times = [name for name in ("observed_at", "poll_id", "date") if name in rows.columns]
    written = rows.filter(pl.col("row_kind").ne_missing(HEARTBEAT))
    there, new = series_ids(before, table.series), series_ids(written, table.series)
    kept = before.filter(~there.is_in(new.implode())).with_columns(
        pl.lit(rows[name][0], rows.schema[name]).alias(name) for name in times
    )
    changed = written.filter(pl.col("row_kind").is_null())
    return pl.concat([kept, changed.select(kept.columns)])


def still_needed(table: Table, rows: pl.DataFrame, since: datetime) -> pl.DataFrame:
    """Return what ``expand`` needs of rows to tell of the time from ``since`` on.

    Args:
        table: A ``change_only`` table.
        rows: Its rows as for ``expand``.
        since: First moment of the rows that will be asked for.

    Returns:
        The rows since then, and of each stream before it the heartbeats and each series' last row.
    """
    time = pl.col("observed_at")
    before = rows.filter(
        pl.col("stream").is_not_null(), time < since, time >= since - REWRITTEN_AFTER
    ).sort("observed_at", maintain_order=True)
    is_heartbeat = before["row_kind"].eq_missing(HEARTBEAT)
    of_series = before.filter(~is_heartbeat)
    last = (
        of_series.with_columns(series_ids(of_series, (*table.series, "stream")))
        .unique("_series", keep="last", maintain_order=True)
        .drop("_series")
    )
    return pl.concat([before.filter(is_heartbeat), last, rows.filter(time >= since)])


def _standing(table: Table, of_streams: pl.DataFrame, polls: pl.DataFrame) -> pl.DataFrame:
    """Return which rows (``_row``) stand from which poll (``_from``) until before which one."""
    # A row ends with the next one of its series, or with its stream, whose polls are neighbours.
    is_last = (pl.col("_series") != pl.col("_series").shift(-1)).fill_null(True)
    following = pl.when(is_last).then("_end").otherwise(pl.col("_poll").shift(-1))
    return (
        _places(table, of_streams, polls)
        .select(
            "_row",
            "_is_tombstone",
            pl.max_horizontal("_poll", "_first").alias("_from"),
            pl.min_horizontal(following, "_end").alias("_until"),
        )
        .filter(~pl.col("_is_tombstone"), pl.col("_until") > pl.col("_from"))
    )


def _polls(of_streams: pl.DataFrame, inside: pl.Expr) -> pl.DataFrame:
    """Return the polls of all streams in order.

    Returns:
        cluster, stream, observed_at, those of poll_id and date that the rows have, and

        - ``_at``: a number for what is the same in all rows of a poll;
        - ``_poll``: its place, one more than that of its stream's poll before;
        - ``_first``, ``_end``: the polls of its stream that are inside; null without any.
    """
    stream = ["cluster", "stream"]
    times = [name for name in ("poll_id", "date") if name in of_streams.columns]
    polls = (
        of_streams.filter(pl.col("row_kind") == HEARTBEAT)
        .select(*_POLL, *times)
        .unique(_POLL)
        .sort(_POLL)
        .with_row_index("_poll")
        .with_columns(pl.col("_poll").cast(pl.Int64))
    )
    numbers = pl.when(inside).then("_poll")
    return polls.with_columns(
        series_ids(polls, _POLL).alias("_at"),
        numbers.min().over(stream).alias("_first"),
        (numbers.max().over(stream) + 1).alias("_end"),
    )


def _places(table: Table, of_streams: pl.DataFrame, polls: pl.DataFrame) -> pl.DataFrame:
    """Return which rows are there of each series: numbers alone, which sort fast.

    Returns:
        For each row of a series whose poll is known: ``_row``, its place in ``of_streams``;
        ``_series``, ``_is_tombstone``; ``_poll``, ``_first`` and ``_end`` as in ``polls``. A
        series' rows are together and in order. Streams without a poll inside are left out.
    """
    kind = of_streams["row_kind"]
    rows = pl.DataFrame(
        [
            pl.int_range(of_streams.height, dtype=pl.get_index_type(), eager=True).alias("_row"),
            series_ids(of_streams, table.series),
            series_ids(of_streams, _POLL).alias("_at"),
            kind.eq_missing(TOMBSTONE).alias("_is_tombstone"),
        ]
    ).filter(kind.ne_missing(HEARTBEAT))
    numbers = polls.filter(pl.col("_first").is_not_null()).select("_at", "_poll", "_first", "_end")
    places = rows.join(numbers, on="_at", maintain_order="left").sort(
        "_series", maintain_order=True
    )
    is_same = pl.col("_series") == pl.col("_series").shift(1)
    # Rows mostly come in the order of time, and sorting by one number is half the work.
    if places.select((is_same & (pl.col("_poll") < pl.col("_poll").shift(1))).any()).item():
        places = places.sort("_series", "_poll")
    return places
