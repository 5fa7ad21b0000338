"""From samples to differences between them: what every history table begins with."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import polars as pl

from lake.change_encoding.expand import series_ids

GAP_INTERVALS = 4
"""A difference over more polls than this is a gap: nobody knows when the messages came."""
DEFAULT_GAP_SECONDS = 60.0
"""The same where a poll says nothing of its cadence (``collectors once``)."""
LONGEST_REACH = timedelta(hours=4)


def reach_of(interval_seconds: float | None) -> timedelta:
    """Return how far apart two samples may lie for their difference to count.

    Args:
        interval_seconds: The longest interval between polls, None where it is unknown.
    """
    seconds = max(DEFAULT_GAP_SECONDS, GAP_INTERVALS * (interval_seconds or 0.0))
    return min(timedelta(seconds=seconds), LONGEST_REACH)


def minute_of(moment: str) -> pl.Expr:
    """Return the beginning of the minute (UTC) that a moment falls into."""
    return pl.col(moment).dt.truncate("1m")


def of_kafka() -> pl.Expr:
    """Return which rows of ``collections`` are about a Kafka cluster itself."""
    return pl.col("source").fill_null("kafka") == "kafka"


def cadences(collections: pl.DataFrame) -> pl.DataFrame:
    """Return how often each cluster was to be polled, minute by minute.

    Args:
        collections: Rows of the bronze table.

    Returns:
        cluster, window_start (minute), interval_seconds (the shortest that was asked for; null
        where no poll of the minute had a cadence). What is collected around a Kafka cluster has
        cadences of its own, which say nothing about the cluster's.
    """
    interval = pl.col("interval_seconds")
    return collections.group_by("cluster", minute_of("observed_at").alias("window_start")).agg(
        pl.coalesce(interval.filter(of_kafka()).min(), interval.min()).alias("interval_seconds")
    )


def with_cadence(samples: pl.DataFrame, cadence: pl.DataFrame) -> pl.DataFrame:
    """Add window_start (minute) and interval_seconds, the cadence of that minute, or null."""
    timed = samples.with_columns(minute_of("observed_at").alias("window_start"))
    # One number is looked up several times as fast as a name and a moment.
    key = ("cluster", "window_start")
    known = cadence.select(series_ids(cadence, key), "interval_seconds")
    found = (
        series_ids(timed, key)
        .to_frame()
        .join(known, on="_series", how="left", maintain_order="left")
    )
    return timed.with_columns(found["interval_seconds"])


def leading(
    samples: pl.DataFrame, series: tuple[str, ...], counters: Sequence[str], start: datetime
) -> pl.DataFrame:
    """Leave out samples before a moment from which no difference after it is taken.

    Where the newest poll before it knows every counter of a series, that is the one that counts.

    Args:
        samples: Samples with ``series`` and ``counters``.
        series: The columns that name what is counted.
        counters: The counters.
        start: The moment.
    """
    time = pl.col("observed_at")
    before = samples.filter(time < start)
    newest = time == time.max().over("cluster")
    is_known = pl.all_horizontal(pl.col(counter).is_not_null() for counter in counters)
    counts = before.select(newest & is_known).to_series()
    ids = series_ids(before, series)
    others = before.filter(~counts & ~ids.is_in(ids.filter(counts).implode()))
    return pl.concat([before.filter(counts), others, samples.filter(time >= start)])


def differences(
    samples: pl.DataFrame, series: tuple[str, ...], counters: Sequence[str]
) -> pl.DataFrame:
    """Drop repeated samples and add what each counter gained since it was last known.

    A difference belongs to the later of its two samples. It is taken from the newest earlier
    sample in which the counter was known, and only if that is at most ``GAP_INTERVALS`` of the
    later sample's cadence away (``DEFAULT_GAP_SECONDS`` without a cadence). A counter that went
    backwards starts anew: no difference, one reset.

    Args:
        samples: Samples with interval_seconds, ``series`` and ``counters``.
        series: The columns that name what is counted.
        counters: Columns that only grow.

    Returns:
        The samples, one a moment and series, each series' together and in order, with
        ``<counter>_gain`` (null: not covered), ``<counter>_seconds`` (time that the gain covers,
        null likewise), ``resets`` and ``_series``, a number for each series.
    """
    rows = samples.with_columns(series_ids(samples, series)).sort("_series", maintain_order=True)
    is_same = pl.col("_series") == pl.col("_series").shift(-1)
    later = pl.col("observed_at").shift(-1)
    # Samples mostly come in the order of time, and sorting by one number is half the work.
    if rows.select((is_same & (pl.col("observed_at") > later)).any()).item():
        rows = rows.sort("_series", "observed_at")
    is_repeated = is_same & (pl.col("observed_at") == later)
    if rows.select(is_repeated.any()).item():
        # Of samples that differ the last in this order counts, however they arrived.
        rows = rows.sort("_series", "observed_at", "poll_id", *counters)
        rows = rows.filter(~is_repeated.fill_null(False))
    limit = (pl.col("interval_seconds") * GAP_INTERVALS).fill_null(DEFAULT_GAP_SECONDS)
    gains: list[pl.Expr] = []
    resets = pl.lit(0, pl.Int32)
    for counter in counters:
        earlier = _earlier(rows, counter)
        seconds = (pl.col("observed_at") - earlier["at"]).dt.total_microseconds() / 1_000_000
        is_near = (pl.col("_series") == earlier["series"]) & (seconds <= limit)
        gain = pl.when(is_near).then(pl.col(counter) - earlier["value"])
        gains.append(pl.when(gain >= 0).then(gain).alias(f"{counter}_gain"))
        gains.append(pl.when(gain >= 0).then(seconds).alias(f"{counter}_seconds"))
        resets = resets + (gain < 0).fill_null(False).cast(pl.Int32)
    return rows.with_columns(*gains, resets.alias("resets"))


def _earlier(rows: pl.DataFrame, counter: str) -> dict[str, pl.Expr]:
    """Return series, moment and value of the newest earlier row in which a counter is known."""
    columns = {"series": "_series", "at": "observed_at", "value": counter}
    if not rows[counter].null_count():
        return {name: pl.col(column).shift(1) for name, column in columns.items()}
    number = pl.int_range(pl.len(), dtype=pl.get_index_type())
    place = pl.when(pl.col(counter).is_not_null()).then(number).forward_fill().shift(1)
    return {name: pl.col(column).gather(place) for name, column in columns.items()}
