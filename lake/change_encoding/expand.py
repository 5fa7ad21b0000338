"""Samples that are not written again while nothing changes, and how readers get them back.

Most partitions of a large cluster are idle. A collector writes a row of a ``carried`` table when
something of it changed, and anew after ``CARRIED_FOR`` at the latest. The rows of a collector
form a run (column ``run``): its first poll is complete, and so is the first one of each date. Each
poll of a run leaves one row with mark ``poll`` and no series: whatever was not written in it is as
it was last. A row with mark ``gone`` says that its series is no more. Columns that are ``lasting``
stand in rows with mark ``whole`` only, of which each series has one in ``CARRIED_FOR``. Rows
without a run are complete by themselves.

A reader starts ``CARRIED_FOR`` before the time that it wants, and calls ``expanded``.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import polars as pl

from lake.schemas.model import Table

CARRIED_FOR = timedelta(minutes=15)
"""A row stands for no poll that is so much later, or later still."""

POLL = "poll"
GONE = "gone"
WHOLE = "whole"
NEEDED = ("cluster", "observed_at", "poll_id", "run", "mark")
"""Columns that ``expanded`` cannot do without, beside the table's series."""

_MOMENT = ("cluster", "run", "observed_at")
_STRAND = ("_series", "_run")


def series_ids(rows: pl.DataFrame, series: tuple[str, ...]) -> pl.Series:
    """Return a number for each row, the same for rows of the same series."""
    return rows.select(series).hash_rows().alias("_series")


def expanded(
    table: Table,
    rows: pl.DataFrame,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> pl.DataFrame:
    """Return one row for each series and poll, as if every poll had been written whole.

    Args:
        table: A carried table.
        rows: Its rows from ``CARRIED_FOR`` before ``since``, with the series and ``NEEDED``.
        since: First moment of the rows to return, inclusive.
        until: Last moment, exclusive.

    Returns:
        The same columns, ``mark`` null. Complete polls come first; the rows of runs follow,
        each series' in the order of time.
    """
    inside = pl.lit(True)
    if since is not None:
        inside &= pl.col("observed_at") >= since
    if until is not None:
        inside &= pl.col("observed_at") < until
    plain = table.distinct(rows.filter(pl.col("run").is_null(), inside))
    of_runs = rows.filter(pl.col("run").is_not_null())
    if of_runs.is_empty():
        return plain
    polls = _polls(of_runs, inside)
    # A row ends with the next one of its series, or with its run, whose polls are neighbours.
    is_last = (pl.col("_series") != pl.col("_series").shift(-1)).fill_null(True)
    following = pl.when(is_last).then("_end").otherwise(pl.col("_poll").shift(-1))
    stretches = (
        _places(table, of_runs, polls)
        .with_columns(
            pl.max_horizontal("_poll", "_first").alias("_from"),
            pl.min_horizontal(following, "_end").alias("_until"),
        )
        .filter(~pl.col("_is_gone"), pl.col("_until") > pl.col("_from"))
    )
    return pl.concat([plain, _repeated(table, of_runs, stretches, polls)])


def followed(table: Table, before: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return a poll whole, from the whole poll before it in its run: ``expanded`` in a tenth.

    Args:
        table: A carried table.
        before: All rows of the run's poll before, whole.
        rows: The rows that were written of the poll.
    """
    sample = [name for name in ("observed_at", "poll_id", "date") if name in rows.columns]
    written = rows.filter(pl.col("mark").ne_missing(POLL))
    there, new = series_ids(before, table.series), series_ids(written, table.series)
    kept = before.filter(~there.is_in(new.implode())).with_columns(
        pl.lit(rows[name][0], rows.schema[name]).alias(name) for name in sample
    )
    lasting = [name for name in table.lasting if name in rows.columns]
    if lasting:
        known = before.select(there, *(pl.col(name).alias(f"_{name}") for name in lasting))
        written = (
            written.with_columns(new)
            .join(known, on="_series", how="left", maintain_order="left")
            .with_columns(
                pl.when(pl.col("mark").eq_missing(WHOLE))
                .then(name)
                .otherwise(f"_{name}")
                .alias(name)
                for name in lasting
            )
        )
    changed = written.filter(pl.col("mark").ne_missing(GONE)).with_columns(
        pl.lit(None, pl.String).alias("mark")
    )
    return pl.concat([kept, changed.select(kept.columns)])


def settled(table: Table, rows: pl.DataFrame, since: datetime) -> pl.DataFrame:
    """Return what ``expanded`` needs of rows to tell of the time from ``since`` on.

    Args:
        table: A carried table.
        rows: Its rows as for ``expanded``.
        since: First moment of the rows that will be asked for.

    Returns:
        The rows since then, and of each run before it the polls and each series' last row.
    """
    time = pl.col("observed_at")
    is_near = time >= since - CARRIED_FOR
    before = rows.filter(pl.col("run").is_not_null(), time < since)
    places = _places(table, before, _polls(before, is_near))
    is_last = pl.any_horizontal(pl.col(name) != pl.col(name).shift(-1) for name in _STRAND)
    last = places.filter(is_last.fill_null(True), pl.col("_poll") >= pl.col("_first"))
    kept = _gathered(table, before, last["_row"], last["_whole"])
    polls = before.filter(pl.col("mark") == POLL, is_near)
    return pl.concat([polls, kept, rows.filter(time >= since)])


def _polls(of_runs: pl.DataFrame, inside: pl.Expr) -> pl.DataFrame:
    """Return the polls of all runs in order, numbered.

    Returns:
        run, cluster, observed_at, those of poll_id and date that the rows have, and

        - ``_moment``: a number for what is the same in all rows of a poll;
        - ``_poll``: the poll's number, one more than that of its run's poll before;
        - ``_run``: the number of its run's first poll;
        - ``_first``, ``_end``: the polls of its run that are inside. Runs without any are left
          out.
    """
    run = ["cluster", "run"]
    times = [name for name in ("poll_id", "date") if name in of_runs.columns]
    polls = (
        of_runs.filter(pl.col("mark") == POLL)
        .select(*run, "observed_at", *times)
        .unique([*run, "observed_at"])
        .sort(*run, "observed_at")
        .with_row_index("_poll")
    )
    number = pl.col("_poll").cast(pl.Int64)
    numbers = pl.when(inside).then(number)
    return polls.with_columns(
        series_ids(polls, _MOMENT).alias("_moment"),
        number,
        number.min().over(run).alias("_run"),
        numbers.min().over(run).alias("_first"),
        (numbers.max().over(run) + 1).alias("_end"),
    ).filter(pl.col("_first").is_not_null())


def _places(table: Table, of_runs: pl.DataFrame, polls: pl.DataFrame) -> pl.DataFrame:
    """Return which rows are there of each series: numbers alone, which sort fast.

    Returns:
        For each row of a series whose poll is known: ``_row``, its place in ``of_runs``;
        ``_whole``, the place of the newest whole row of its series and run, or null; ``_series``,
        ``_is_gone``; ``_poll``, ``_run``, ``_first`` and ``_end`` as in ``polls``. A series' rows
        are together and in order.
    """
    mark = of_runs["mark"]
    rows = pl.DataFrame(
        [
            pl.int_range(of_runs.height, dtype=pl.get_index_type(), eager=True).alias("_row"),
            series_ids(of_runs, table.series),
            series_ids(of_runs, _MOMENT).alias("_moment"),
            mark.eq_missing(GONE).alias("_is_gone"),
            mark.eq_missing(WHOLE).alias("_is_whole"),
        ]
    ).filter(mark.ne_missing(POLL))
    numbers = polls.select("_moment", "_poll", "_run", "_first", "_end")
    places = rows.join(numbers, on="_moment", maintain_order="left").sort(
        "_series", maintain_order=True
    )
    is_same = pl.col("_series") == pl.col("_series").shift(1)
    # Rows mostly come in the order of time, and sorting by one number is half the work.
    if places.select((is_same & (pl.col("_poll") < pl.col("_poll").shift(1))).any()).item():
        places = places.sort("_series", "_poll")
    newest = pl.when("_is_whole").then(pl.int_range(pl.len())).forward_fill()
    is_own = pl.all_horizontal(pl.col(name).gather(newest) == pl.col(name) for name in _STRAND)
    return places.with_columns(pl.when(is_own).then(pl.col("_row").gather(newest)).alias("_whole"))


def _gathered(
    table: Table, rows: pl.DataFrame, places: pl.Series, whole: pl.Series
) -> pl.DataFrame:
    """Return the rows at these places, with what is lasting from the whole ones."""
    lasting = [name for name in table.lasting if name in rows.columns]
    found = rows.select(pl.all().gather(places))
    if not lasting:
        return found
    return found.with_columns(
        *(rows[name].gather(whole) for name in lasting),
        pl.when(pl.col("mark").ne_missing(GONE))
        .then(pl.lit(WHOLE))
        .otherwise("mark")
        .alias("mark"),
    )


def _repeated(
    table: Table, rows: pl.DataFrame, stretches: pl.DataFrame, polls: pl.DataFrame
) -> pl.DataFrame:
    """Return each row once for every poll that it stands for."""
    begin = stretches["_from"].to_numpy()
    counts = stretches["_until"].to_numpy() - begin
    nth = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(counts)
    within = np.arange(len(nth)) - np.repeat(ends - counts, counts)
    # Runs that are left out leave holes in the numbers.
    place = np.searchsorted(polls["_poll"].to_numpy(), begin[nth] + within)
    times = [name for name in ("observed_at", "poll_id", "date") if name in rows.columns]
    kept = _gathered(
        table, rows.drop(times), stretches["_row"].gather(nth), stretches["_whole"].gather(nth)
    ).with_columns(pl.lit(None, pl.String).alias("mark"))
    found = [kept, polls.select(pl.col(times).gather(place))]
    return pl.concat(found, how="horizontal").select(rows.columns)
