"""Samples that are not written again while nothing changes, and how readers get them back.

Most partitions of a large cluster are idle. A collector writes a row of a ``carried`` table when
something of it changed, and anew after ``CARRIED_FOR`` at the latest. The rows of a collector
form a run (column ``run``): its first poll is complete, and so is the first one of each date. Each
poll of a run leaves one row with mark ``poll`` and no series: whatever was not written in it is as
it was last. A row with mark ``gone`` says that its series is no more. Rows without a run are
complete by themselves.

A reader starts ``CARRIED_FOR`` before the time that it wants, and calls ``expanded``.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import polars as pl

from lake.schema import Table

CARRIED_FOR = timedelta(minutes=5)
"""A row stands for no poll that is so much later, or later still."""

POLL = "poll"
GONE = "gone"
NEEDED = ("cluster", "observed_at", "poll_id", "run", "mark")
"""Columns that ``expanded`` cannot do without, beside the table's series."""

_SAMPLE = ("cluster", "observed_at", "poll_id", "date", "run", "mark")


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
    plain = rows.filter(pl.col("run").is_null(), inside)
    of_runs = rows.filter(pl.col("run").is_not_null())
    if of_runs.is_empty():
        return plain
    polls = _polls(of_runs, inside)
    written = of_runs.filter(pl.col("mark").is_null() | (pl.col("mark") == GONE)).join(
        polls.select("cluster", "run", "observed_at", "_poll", "_first", "_end"),
        on=["cluster", "run", "observed_at"],
    )
    written = written.with_columns(series_ids(written, table.series)).sort("_series", "_poll")
    # A row ends with the next one of its series, or with its run, whose polls are neighbours.
    is_last = (pl.col("_series") != pl.col("_series").shift(-1)).fill_null(True)
    following = pl.when(is_last).then("_end").otherwise(pl.col("_poll").shift(-1))
    stretches = written.with_columns(
        pl.max_horizontal("_poll", "_first").alias("_from"),
        pl.min_horizontal(following, "_end").alias("_until"),
    ).filter(pl.col("mark").is_null(), pl.col("_until") > pl.col("_from"))
    filled = _repeated(stretches, polls, rows.columns)
    return pl.concat([plain, filled])


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
    before = rows.filter(pl.col("run").is_not_null(), time < since, time >= since - CARRIED_FOR)
    polls = before.filter(pl.col("mark") == POLL)
    written = before.filter(pl.col("mark").is_null() | (pl.col("mark") == GONE)).join(
        polls, on=["cluster", "run", "observed_at"], how="semi"
    )
    last = (
        written.with_columns(series_ids(written, table.series))
        .sort("observed_at")
        .unique(["run", "_series"], keep="last")
        .drop("_series")
    )
    return pl.concat([polls, last, rows.filter(time >= since)])


def _polls(of_runs: pl.DataFrame, inside: pl.Expr) -> pl.DataFrame:
    """Return the polls of all runs in order, numbered, with the first and the end of each run.

    ``_first`` and ``_end`` are those of the polls inside; runs without any are left out.
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
        number,
        numbers.min().over(run).alias("_first"),
        (numbers.max().over(run) + 1).alias("_end"),
    ).filter(pl.col("_first").is_not_null())


def _repeated(stretches: pl.DataFrame, polls: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """Return each row once for every poll that it stands for."""
    begin = stretches["_from"].to_numpy()
    counts = stretches["_until"].to_numpy() - begin
    rows = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(counts)
    within = np.arange(len(rows)) - np.repeat(ends - counts, counts)
    # Runs that are left out leave holes in the numbers.
    place = np.searchsorted(polls["_poll"].to_numpy(), begin[rows] + within)
    times = [name for name in ("observed_at", "poll_id", "date") if name in columns]
    kept = stretches.select(name for name in columns if name not in times)
    found = [kept.select(pl.all().gather(rows)), polls.select(pl.col(times).gather(place))]
    return pl.concat(found, how="horizontal").select(columns)


@dataclass(slots=True)
class _Run:
    """What a stream of polls has written.

    Attributes:
        name: The run.
        at: The newest poll.
        last: Each series that is there: ``_series``, ``_values``, ``_written_at``.
        names: Their columns, and ``_series``. Apart, and from when they were first seen: most of
            the memory is in them, and they do not change.
    """

    name: str
    at: datetime
    last: pl.DataFrame
    names: pl.DataFrame


class Thinning:
    """Leaves out of the polls of one table what a reader can fill in.

    A stream is what one source says of one cluster. A poll must be written before the next one of
    its stream is thinned; if that fails, ``forget`` the stream.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._names = [
            column.name
            for column in table.columns
            if column.name not in (*_SAMPLE, *table.series, *table.volatile)
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
        # Beside the rows, not in them: joins then move three columns instead of all.
        found = pl.DataFrame(
            [
                series_ids(rows, self._table.series),
                rows.select(values).hash_rows().alias("_values"),
            ]
        )
        named = pl.concat(
            [rows.select(self._table.series), found["_series"].to_frame()], how="horizontal"
        )
        run = self._runs.get(stream)
        if run is None or run.at.date() != at.date() or at <= run.at:
            run = _Run(uuid.uuid4().hex, at, found.head(0), named)
            written = rows
            # As if written before, each at another time: they are not all due at once again.
            spread = pl.col("_series") % int(CARRIED_FOR.total_seconds())
            found = found.with_columns(_stamp(at) - pl.duration(seconds=spread))
            names, gone = named.unique("_series"), named.head(0)
        else:
            before = run.last.rename({"_values": "_before"})
            found = found.join(before, on="_series", how="left", maintain_order="left")
            is_due = found.select(
                pl.col("_before").is_null()
                | (pl.col("_before") != pl.col("_values"))
                | (pl.col("_written_at") <= at - CARRIED_FOR)
            ).to_series()
            written = rows.filter(is_due)
            names, gone = _renamed(run.names, named, found)
            found = found.drop("_before").with_columns(
                pl.when(is_due).then(_stamp(at)).otherwise("_written_at").alias("_written_at")
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
