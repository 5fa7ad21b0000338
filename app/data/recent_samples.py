"""The raw samples of the last minutes, in the columns of the history: pure functions."""

from __future__ import annotations

import polars as pl

from app.data.history import TIME, Measure
from lake.replication import IS_OFFLINE, IS_UNDER_MIN_ISR, IS_UNDER_REPLICATED, number_of
from lake.schemas.bronze import IN_TOTALS


def of_groups(offsets: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Sum partitions up to groups, a row a poll.

    Returns:
        ``time``, ``group``, ``lag``, ``time_lag_seconds`` (of the worst partition),
        ``arrival_per_second``, ``consumption_per_second``, ``members``. A rate lacks where that
        of a partition with a commit does. Topics that a group reads no more are left out.
    """
    partitions = _with_rates(offsets.filter(IN_TOTALS))
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


def of_topics(partitions: pl.DataFrame) -> pl.DataFrame:
    """Sum partitions up to topics, a row a poll: arrival and what is retained."""
    rows = partitions.select(
        pl.col("observed_at").alias(TIME), "topic", "partition", "log_start", "log_end"
    ).sort("topic", "partition", TIME)
    return (
        rows.with_columns(
            per_second("log_end", ("topic", "partition")).alias("arrival_per_second"),
            (pl.col("log_end") - pl.col("log_start")).alias("retained"),
        )
        .group_by(TIME, "topic")
        .agg(known_sum("arrival_per_second"), known_sum("retained"))
        .sort("topic", TIME)
    )


def of_cluster(
    offsets: pl.DataFrame, groups: pl.DataFrame, partitions: pl.DataFrame, brokers: pl.DataFrame
) -> pl.DataFrame:
    """Sum everything up to the cluster, a row a poll; see ``app.data.history.CLUSTER``."""
    by_group = of_groups(offsets, groups)
    lag = by_group.group_by(TIME).agg(
        known_sum("lag"),
        pl.col("time_lag_seconds").max(),
        known_sum("consumption_per_second"),
        pl.col("group").n_unique().alias("groups"),
    )
    arrival = (
        of_topics(partitions)
        .group_by(TIME)
        .agg(known_sum("arrival_per_second"), pl.col("topic").n_unique().alias("topics"))
    )
    replication = partitions.group_by(pl.col("observed_at").alias(TIME)).agg(
        IS_UNDER_REPLICATED.sum().alias("under_replicated"),
        number_of(IS_UNDER_MIN_ISR).alias("under_min_isr"),
        IS_OFFLINE.sum().alias("offline"),
    )
    alive = brokers.group_by(pl.col("observed_at").alias(TIME)).agg(
        pl.col("is_alive").sum().alias("brokers_alive"), pl.len().alias("brokers_known")
    )
    joined = lag
    for other in (arrival, replication, alive):
        joined = joined.join(other, on=TIME, how="full", coalesce=True)
    return joined.sort(TIME)


def of_dead_letters(dead_letters: pl.DataFrame) -> pl.DataFrame:
    """Return each dead-letter topic, a row a poll: depths and arrivals."""
    return (
        dead_letters.select(
            pl.col("observed_at").alias(TIME),
            "source",
            "name",
            "unprocessed",
            "retained",
            "log_end",
        )
        .sort("source", "name", TIME)
        .with_columns(per_second("log_end", ("source", "name")).alias("arrival_per_second"))
        .drop("log_end")
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
    counter_column: str = "log_end",
    name: str = "arrival_per_second",
) -> pl.DataFrame:
    """Return how fast a counter of each partition grows, from its values at the newest polls.

    Args:
        rows: Samples of partitions of at least two polls.
        counter_column: The counter: log end or committed offset.
        name: How to call its rate.

    Returns:
        ``topic``, ``partition`` and the rate over the time that the rows cover; null where there
        is one sample only or the counter went backwards.
    """
    counter, at = pl.col(counter_column).drop_nulls(), pl.col("observed_at")
    seen = at.filter(pl.col(counter_column).is_not_null())
    grown = counter.last() - counter.first()
    passed = (seen.last() - seen.first()).dt.total_microseconds() / 1e6
    return (
        rows.sort("observed_at")
        .group_by("topic", "partition")
        .agg(pl.when((counter.diff().min() >= 0) & (passed > 0)).then(grown / passed).alias(name))
        .sort("topic", "partition")
    )


def _with_rates(offsets: pl.DataFrame) -> pl.DataFrame:
    key = ("group", "topic", "partition")
    return (
        offsets.select(
            pl.col("observed_at").alias(TIME),
            *key,
            *("lag", "time_lag_seconds", "committed", "log_end"),
        )
        .sort(*key, TIME)
        .with_columns(
            per_second("log_end", key).alias("arrival_per_second"),
            per_second("committed", key).alias("consumption_per_second"),
        )
    )


def per_second(column: str, by: tuple[str, ...]) -> pl.Expr:
    """Return the rate at which a counter grows between the polls of each series, in order of time.

    Null for the first poll and where the counter went backwards: a recreated topic, a reset group.
    """
    grown = pl.col(column) - pl.col(column).shift(1).over(*by)
    passed = (pl.col(TIME) - pl.col(TIME).shift(1).over(*by)).dt.total_microseconds() / 1e6
    return pl.when((grown >= 0) & (passed > 0)).then(grown / passed)


def known_sum(column: str) -> pl.Expr:
    """Return the sum of the values that are known; null where none is."""
    return pl.when(pl.col(column).count() > 0).then(pl.col(column).sum()).alias(column)
