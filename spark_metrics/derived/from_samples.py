"""What only samples tell: hosts, and what members got through when they never waited.

A sample that repeats the one before need not be there: what is not seen to change counts as
unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import pandas as pd  # type: ignore[import-untyped]  # it ships no types
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from lake.tables import CAPACITY
from scaling.capacity import Capacity, Estimate, estimate_capacity
from scaling.intervals import DEFAULT_RULES, Intervals
from spark_metrics.derived.tables import fields, names_of
from spark_metrics.rollups.aggregates import last_known, per_second
from spark_metrics.rollups.samples import MINUTE_SECONDS, differences, window_start

LOOK_BACK = timedelta(minutes=5)
"""Samples from so long before an hour are read for its first difference."""
_PARTITION = ("cluster", "group", "topic", "partition")
_MEMBER = ("cluster", "group", "member")
_SUSTAINED_SECONDS = 600


def with_gains(samples: DataFrame, cadence: DataFrame, start: datetime) -> DataFrame:
    """Return the samples of group partitions from ``start`` on with what they gained.

    Args:
        samples: Rows of ``group_offsets`` from ``LOOK_BACK`` before start.
        cadence: What ``cadences`` returns.
        start: The first hour.
    """
    minute = window_start(F.col("observed_at"), MINUTE_SECONDS)
    timed = samples.withColumn("window_start", minute).join(
        cadence, ["cluster", "window_start"], "left"
    )
    before = Window.partitionBy(*_PARTITION).orderBy("observed_at")
    gained = differences(timed, _PARTITION, ("log_end", "committed"))
    held = gained.withColumns(
        {
            "lag_before": F.lag("lag").over(before),
            "kept": F.col("member_id").eqNullSafe(F.lag("member_id").over(before)),
        }
    )
    return held.where(F.col("observed_at") >= start)


def hosts(gained: DataFrame) -> DataFrame:
    """Return the rows of ``host_history``: what the members on each host did, by the hour.

    Args:
        gained: What ``with_gains`` returns.
    """
    hour = window_start(F.col("observed_at"), 3600)
    seen = gained.where(F.col("host").isNotNull()).withColumn("window_start", hour)
    key = ("cluster", "window_start", "host")
    partitions = seen.groupBy(*key, "group", "topic", "partition").agg(
        F.max("member_id").alias("member"),
        last_known("lag", "observed_at").alias("lag"),
        F.max("time_lag_seconds").alias("time_lag_seconds"),
        F.sum("committed_gain").alias("consumed"),
        F.sum("committed_seconds").alias("seconds"),
        F.sum("resets").alias("resets"),
    )
    hours = partitions.groupBy(*key).agg(
        F.count_distinct("group").alias("groups_max"),
        F.count_distinct("member").alias("members_max"),
        F.count(F.lit(1)).alias("partitions_max"),
        F.sum("lag").alias("lag_last"),
        F.count_if(F.col("lag").isNull()).alias("unknown_partitions_max"),
        F.max("time_lag_seconds").alias("time_lag_seconds_max"),
        F.sum("consumed").alias("consumed"),
        # Partitions are watched side by side: the longest is the time that is covered.
        F.max("seconds").alias("consumed_seconds"),
        F.sum("resets").alias("resets"),
    )
    return hours.withColumn("consumption_per_second", per_second("consumed", "consumed_seconds"))


def intervals(gained: DataFrame, groups: DataFrame) -> DataFrame:
    """Return what members did in minutes in which nothing was assigned anew.

    Args:
        gained: What ``with_gains`` returns.
        groups: Rows of ``groups`` of the same time.

    Returns:
        The columns of ``scaling.intervals.Intervals`` with cluster and group: every minute of a
        member that had a backlog in it, and of the others the best ten minutes of each hour.
    """
    minute = window_start(F.col("observed_at"), MINUTE_SECONDS).alias("minute")
    counted = groups.groupBy("cluster", "group", minute).agg(
        F.max("members").alias("members"), F.min("members").alias("_fewest")
    )
    moved = Window.partitionBy("cluster", "group", "minute")
    held = gained.where(F.col("member_id").isNotNull() & F.col("committed").isNotNull())
    partitions = (
        held.select("*", minute)
        .groupBy(
            "cluster", "group", "topic", "partition", F.col("member_id").alias("member"), "minute"
        )
        .agg(
            F.bool_and("kept").alias("kept"),
            F.sum("committed_gain").alias("consumed"),
            F.sum("log_end_gain").alias("arrived"),
            F.sum("committed_seconds").alias("seconds"),
            F.min_by("lag_before", "observed_at").alias("lag_start"),
            F.max_by("lag", "observed_at").alias("lag_end"),
        )
        .withColumn("kept", F.bool_and("kept").over(moved))
    )
    # A partition that does not advance has nothing to keep its member busy, or is blocked.
    advances = F.col("consumed") > 0
    members = (
        partitions.where("kept")
        .groupBy(*_MEMBER, "minute")
        .agg(
            F.sum("consumed").alias("consumed"),
            F.sum("arrived").alias("arrived"),
            F.max("seconds").alias("seconds"),
            F.coalesce(F.sum(F.when(advances, F.col("lag_start"))), F.lit(0)).alias("lag_start"),
            F.coalesce(F.sum(F.when(advances, F.col("lag_end"))), F.lit(0)).alias("lag_end"),
        )
    )
    whole = members.join(counted.where("members = _fewest"), ["cluster", "group", "minute"])
    whole = whole.where(F.col("seconds").isNotNull() & F.col("consumed").isNotNull())
    waits = F.least("lag_start", "lag_end") < DEFAULT_RULES.max_poll_records
    busy = whole.where(~waits).withColumnRenamed("minute", "started_at")
    names = busy.columns
    return busy.unionByName(_best_sustained(whole.where(waits)).select(names))


def _best_sustained(minutes: DataFrame) -> DataFrame:
    """Return for each member and hour the ten minutes in which it got through most."""
    start = window_start(F.col("minute"), _SUSTAINED_SECONDS)
    stretches = minutes.groupBy(*_MEMBER, start.alias("started_at"), "members").agg(
        F.sum("consumed").alias("consumed"),
        F.sum("arrived").alias("arrived"),
        F.sum("seconds").alias("seconds"),
        F.min("lag_start").alias("lag_start"),
        F.min("lag_end").alias("lag_end"),
    )
    hour = window_start(F.col("started_at"), 3600)
    fastest = Window.partitionBy(*_MEMBER, hour).orderBy(
        F.desc(F.col("consumed") / F.col("seconds")), "started_at"
    )
    long_enough = stretches.where(F.col("seconds") >= DEFAULT_RULES.sustained_seconds / 2)
    return long_enough.withColumn("_rank", F.row_number().over(fastest)).where("_rank = 1")


def blocked(gained: DataFrame) -> DataFrame:
    """Return the partitions that stood still while their log grew and their member worked.

    Args:
        gained: What ``with_gains`` returns, of the last hour.

    Returns:
        cluster, group, partitions (``topic-number``), sorted.
    """
    held = gained.where(F.col("member_id").isNotNull())
    totals = held.groupBy(*_PARTITION, "member_id").agg(
        F.sum("committed_gain").alias("consumed"),
        F.sum("log_end_gain").alias("arrived"),
        F.max_by("lag", "observed_at").alias("lag"),
    )
    others = Window.partitionBy("cluster", "group", "member_id")
    works = F.max("consumed").over(others) > 0
    stuck = totals.withColumn("works", works).where(
        F.col("works") & (F.col("consumed") == 0) & (F.col("arrived") > 0) & (F.col("lag") > 0)
    )
    name = F.concat_ws("-", "topic", "partition")
    return stuck.groupBy("cluster", "group").agg(F.sort_array(F.collect_set(name)).alias("blocked"))


def capacities(found: DataFrame, stuck: DataFrame) -> DataFrame:
    """Return the rows of ``capacity``: what one member of each group can do.

    Args:
        found: Rows of ``capacity_intervals`` of the last days.
        stuck: What ``blocked`` returns.
    """
    values = ("member", "members", "started_at", "seconds", "consumed", "arrived")
    columns = [*values, "lag_start", "lag_end"]
    timed = found.withColumn("started_at", F.unix_micros("started_at") / 1e6)
    groups = timed.groupBy("cluster", "group").agg(
        *(F.collect_list(column).alias(column) for column in columns)
    )
    joined = groups.join(stuck, ["cluster", "group"], "left")
    names = names_of(CAPACITY)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            rows: list[dict[str, Any]] = []
            for one in batch.to_dict("records"):
                names_stuck = one["blocked"]
                estimate = estimate_capacity(
                    Intervals.of({column: one[column] for column in columns}),
                    blocked=() if names_stuck is None else tuple(names_stuck),
                )
                rows.extend(_rows(one["cluster"], one["group"], estimate))
            yield pd.DataFrame(rows, columns=names, dtype=object)

    return joined.mapInPandas(work, fields(CAPACITY))


def _rows(cluster: str, group: str, capacity: Capacity) -> Iterator[dict[str, Any]]:
    key = {"cluster": cluster, "group": group}
    yield key | {
        "status": str(capacity.status),
        "reason": capacity.reason,
        "per_second": capacity.per_second,
        "low": capacity.low,
        "high": capacity.high,
        "samples": capacity.samples,
        "episodes": capacity.episodes,
        "limit_per_second": capacity.limit_per_second,
        "helpful_members": capacity.helpful_members,
    }
    members: Mapping[str, Estimate] = capacity.members or {}
    for member, estimate in members.items():
        yield key | {
            "member": member,
            "status": str(capacity.status),
            "per_second": estimate.per_second,
            "low": estimate.low,
            "high": estimate.high,
            "samples": estimate.samples,
            "episodes": estimate.episodes,
        }
