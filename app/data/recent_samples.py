"""The raw samples of the last minutes, in the columns of the history: pure functions.

Rates are made as those of history are, by ``lake.differences``: null after a gap and a reset. What
is a gap depends on ``interval_seconds``, the cadence of the polls.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from app.data.history import TIME, Measure
from app.style.format import duration
from lake.differences import differences
from lake.replication import IS_OFFLINE, IS_UNDER_MIN_ISR, IS_UNDER_REPLICATED, number_of
from lake.schemas.bronze import IN_TOTALS


def of_groups(offsets: pl.DataFrame, groups: pl.DataFrame, interval_seconds: float) -> pl.DataFrame:
    """Sum partitions up to groups, a row a poll.

    Returns:
        ``time``, ``group``, ``lag``, ``time_lag_seconds`` (of the worst partition),
        ``arrival_per_second``, ``consumption_per_second``, ``members``. A rate lacks where that
        of a partition with a commit does. Topics that a group reads no more are left out.
    """
    partitions = _with_rates(offsets.filter(IN_TOTALS), interval_seconds)
    summed = partitions.group_by(TIME, "group").agg(
        known_sum("lag"),
        pl.col("time_lag_seconds").max(),
        known_sum("arrival_per_second"),
        known_sum("consumption_per_second"),
    )
    members = groups.select(pl.col("observed_at").alias(TIME), "group", "members").unique(
        [TIME, "group"]
    )
    return summed.join(members, on=[TIME, "group"], how="left").sort("group", TIME)


def of_partitions(offsets: pl.DataFrame) -> pl.DataFrame:
    """Return each partition of each group, a row a poll: lag and time lag."""
    return offsets.select(
        pl.col("observed_at").alias(TIME), "group", "topic", "partition", "lag", "time_lag_seconds"
    ).sort("group", "topic", "partition", TIME)


def of_topics(partitions: pl.DataFrame, interval_seconds: float) -> pl.DataFrame:
    """Sum partitions up to topics, a row a poll: arrival and what is retained."""
    rows = _differences(partitions, ("topic", "partition"), ["log_end"], interval_seconds)
    return (
        rows.with_columns(
            per_second("log_end").alias("arrival_per_second"),
            (pl.col("log_end") - pl.col("log_start")).alias("retained"),
        )
        .group_by(pl.col("observed_at").alias(TIME), "topic")
        .agg(known_sum("arrival_per_second"), known_sum("retained"))
        .sort("topic", TIME)
    )


def of_cluster(
    offsets: pl.DataFrame,
    groups: pl.DataFrame,
    partitions: pl.DataFrame,
    brokers: pl.DataFrame,
    interval_seconds: float,
) -> pl.DataFrame:
    """Sum everything up to the cluster, a row a poll; see ``app.data.history.CLUSTER``."""
    by_group = of_groups(offsets, groups, interval_seconds)
    lag = by_group.group_by(TIME).agg(
        known_sum("lag"),
        pl.col("time_lag_seconds").max(),
        known_sum("consumption_per_second"),
        pl.col("group").n_unique().alias("groups"),
    )
    arrival = (
        of_topics(partitions, interval_seconds)
        .group_by(TIME)
        .agg(known_sum("arrival_per_second"), pl.col("topic").n_unique().alias("topics"))
    )
    alive = brokers.group_by(pl.col("observed_at").alias(TIME)).agg(
        pl.col("is_alive").sum().alias("brokers_alive"), pl.len().alias("brokers_known")
    )
    joined = lag
    for other in (arrival, at_risk(partitions), alive):
        joined = joined.join(other, on=TIME, how="full", coalesce=True)
    return joined.sort(TIME)


def at_risk(partitions: pl.DataFrame) -> pl.DataFrame:
    """Count the partitions at risk, a row a poll; see ``app.data.history.AT_RISK``."""
    return (
        partitions.group_by(pl.col("observed_at").alias(TIME))
        .agg(
            IS_UNDER_REPLICATED.sum().alias("under_replicated"),
            number_of(IS_UNDER_MIN_ISR).alias("under_min_isr"),
            IS_OFFLINE.sum().alias("offline"),
        )
        .sort(TIME)
    )


def of_dead_letters(dead_letters: pl.DataFrame, interval_seconds: float) -> pl.DataFrame:
    """Return each dead-letter topic, a row a poll: depths and arrivals."""
    series = ("source", "name")
    return _differences(dead_letters, series, ["log_end"], interval_seconds).select(
        pl.col("observed_at").alias(TIME),
        *series,
        "unprocessed",
        "retained",
        per_second("log_end").alias("arrival_per_second"),
    )


def point(status: pl.DataFrame, measures: tuple[Measure, ...], *keys: str) -> pl.DataFrame:
    """Return the present as a point of a history.

    Args:
        status: Rows of a table of ``lake.schemas.current``.
        measures: The values of the history; those that the table lacks are null.
        keys: Columns that tell series apart.
    """
    at = "observed_at" if "observed_at" in status.columns else "evaluated_at"
    return status.select(
        pl.col(at).alias(TIME),
        *keys,
        *(
            pl.col(one.name) if one.name in status.columns else pl.lit(None).alias(one.name)
            for one in measures
        ),
    )


def latest_rates(
    rows: pl.DataFrame,
    interval_seconds: float,
    counter_column: str = "log_end",
    name: str = "arrival_per_second",
) -> pl.DataFrame:
    """Return how fast a counter of each partition grows, from its values at the newest polls.

    Args:
        rows: Samples of partitions, of each at most once a poll.
        interval_seconds: The cadence of the polls.
        counter_column: The counter: log end or committed offset.
        name: How to call its rate.

    Returns:
        ``topic``, ``partition`` and the rate over the time that differences cover; null where
        none does.
    """
    grown, passed = (pl.col(f"{counter_column}_{part}").sum() for part in ("gain", "seconds"))
    return (
        _differences(rows, ("topic", "partition"), [counter_column], interval_seconds)
        .group_by("topic", "partition")
        .agg(pl.when(passed > 0).then(grown / passed).alias(name))
        .sort("topic", "partition")
    )


def why_no_rate(
    samples: pl.DataFrame, counters: Sequence[str], *, polls: int, seconds: float = 0.0
) -> str:
    """Say why a rate is not known, such as after collectors have begun.

    Args:
        samples: The samples of the last minutes.
        counters: The counters that it is told from.
        polls: How many polls it takes.
        seconds: How much time they have to cover.
    """
    read = samples.drop_nulls(counters)["observed_at"].unique()
    if read.is_empty():
        return "Rates are not known: no poll of the last minutes could read the offsets."
    first, last = read.min(), read.max()
    assert isinstance(first, datetime) and isinstance(last, datetime)  # noqa: S101 (of datetimes)
    if read.len() < polls or (last - first).total_seconds() < seconds:
        over = f" over {duration(seconds)}" if seconds else ""
        return (
            f"Rates are not known yet: they take {polls} polls{over}. The last minutes have "
            f"{read.len()}: collectors were away, or it is new."
        )
    if samples["observed_at"].max() != last:
        return "Rates are not known: the newest polls could not read the offsets."
    return (
        "Rates are not known: between polls offsets could not be read or went back, or polls are "
        "missing."
    )


def _with_rates(offsets: pl.DataFrame, interval_seconds: float) -> pl.DataFrame:
    series = ("group", "topic", "partition")
    rows = _differences(offsets, series, ["log_end", "committed"], interval_seconds)
    return rows.select(
        pl.col("observed_at").alias(TIME),
        *series,
        *("lag", "time_lag_seconds"),
        per_second("log_end").alias("arrival_per_second"),
        per_second("committed").alias("consumption_per_second"),
    )


def _differences(
    samples: pl.DataFrame, series: tuple[str, ...], counters: list[str], interval_seconds: float
) -> pl.DataFrame:
    timed = samples.with_columns(pl.lit(interval_seconds).alias("interval_seconds"))
    return differences(timed, series, counters)


def per_second(counter: str) -> pl.Expr:
    """Return the rate behind a difference; null where there is none."""
    return pl.col(f"{counter}_gain") / pl.col(f"{counter}_seconds")


def known_sum(column: str) -> pl.Expr:
    """Return the sum of the values that are known; null where none is."""
    return pl.when(pl.col(column).count() > 0).then(pl.col(column).sum()).alias(column)
