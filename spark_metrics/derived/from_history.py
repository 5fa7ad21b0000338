"""Skew, unusual lag and what a cluster's growth comes from: frames in, frames out."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import polars as pl
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from alerting.current.skew import skew
from lake.schemas.tables import SKEW
from spark_metrics.derived.series import DAY, HOUR_SECONDS, WEEK
from spark_metrics.rollups.passes import Frames
from spark_metrics.samples import by_group

LEAST_SCORE = 3.0
"""So many times as far above what is usual as the usual upper end is."""
LEAST_LAG = 10
"""A group that commits in steps is a few messages behind all the time."""
MOST_CONTRIBUTORS = 50
_MONDAY_OF_EPOCH = 72


def skewed(partitions: DataFrame, start: datetime, end: datetime, tasks: int) -> DataFrame:
    """Return the rows of ``skew``: for each group, and for each topic that a group reads.

    Args:
        partitions: Hours of ``group_partition_history`` from start to end.
        start: The first hour.
        end: The end of the last one.
        tasks: See ``by_group``.
    """
    read = partitions.groupBy("cluster", "group", "topic", "partition").agg(
        F.sum("arrived").alias("arrived"),
        F.sum("arrived_seconds").alias("seconds"),
        F.bool_or("generated").alias("generated"),
    )
    window_seconds = (end - start).total_seconds()

    def on_topics(frames: Frames) -> pl.DataFrame:
        read = frames["read"]
        # Every group sees the same log: the one that was watched longest tells most of it.
        longest = read.sort("seconds", "group", descending=[True, False], nulls_last=True)
        own = longest.unique(["cluster", "topic", "partition"], keep="first")
        topics = pl.concat([read, own.with_columns(pl.lit(None, pl.String).alias("group"))])
        made = [
            {
                "cluster": cluster,
                "group": group,
                "topic": topic,
                "window_start": start,
                "window_seconds": window_seconds,
                **_skew(of_topic, window_seconds),
            }
            for (cluster, group, topic), of_topic in topics.group_by("cluster", "group", "topic")
        ]
        return pl.DataFrame(made, schema=SKEW.polars_schema)

    return by_group({"read": (read, "topic")}, tasks, on_topics, SKEW)


def _skew(partitions: pl.DataFrame, window_seconds: float) -> dict[str, Any]:
    known = partitions.with_columns(
        rate=pl.when(pl.col("seconds") > 0).then(pl.col("arrived") / pl.col("seconds"))
    )
    arrived = known["arrived"].drop_nulls()
    found = skew(
        dict(known.select("partition", "rate").rows()),
        span_seconds=max(known["seconds"].drop_nulls(), default=window_seconds),
    )
    return {
        "partitions": known.height,
        "messages": None if arrived.is_empty() else arrived.sum(),
        "busiest_partition": found.busiest,
        "busiest_ratio": found.busiest_ratio,
        "even_ratio": found.even_ratio,
        "hot_partitions": list(found.hot),
        "unknown_reason": found.unknown_reason,
        "generated": known["generated"].any(),
    }


def anomalies(groups: DataFrame, seasonality: DataFrame) -> DataFrame:
    """Return the rows of ``lag_anomalies``: hours whose lag lies far above what is usual.

    Args:
        groups: Hours of ``group_history``.
        seasonality: Rows of ``seasonality``.
    """
    hour = F.floor(F.unix_seconds("window_start") / HOUR_SECONDS)
    usual = seasonality.where("subject = 'group' and metric = 'lag_max' and status = 'ok'").select(
        "cluster",
        F.col("name").alias("group"),
        "hour_of_week",
        F.col("p50").alias("usual"),
        # The 75 % quantile, carried on as a normal distribution would (1.645 / 0.674): the 95 %
        # quantile of few weeks is the very outlier that is looked for.
        (F.col("p50") + 2.44 * (F.col("p75") - F.col("p50"))).alias("usual_high"),
        F.col("samples"),
        F.col("generated").alias("_season"),
    )
    seen = groups.select(
        "cluster",
        "group",
        "window_start",
        "lag_max",
        ((hour + _MONDAY_OF_EPOCH) % WEEK).cast("int").alias("hour_of_week"),
        "generated",
    )
    spread = F.greatest(
        F.col("usual_high") - F.col("usual"), 0.1 * F.col("usual"), F.lit(float(LEAST_LAG))
    )
    score = (F.col("lag_max") - F.col("usual")) / spread
    found = seen.join(usual, ["cluster", "group", "hour_of_week"]).withColumn("score", score)
    marked = F.coalesce(F.col("generated"), F.col("_season"))
    return found.where(F.col("score") >= LEAST_SCORE).withColumn("generated", marked)


def contributors(topics: DataFrame, now: datetime) -> DataFrame:
    """Return the rows of ``contributors``: which topics a cluster's growth comes from.

    Args:
        topics: Hours of ``topic_history``, of two weeks before now.
        now: The end of the last hour.
    """
    day = _contributors(topics, now, DAY)
    return day.unionByName(_contributors(topics, now, WEEK))


def _contributors(topics: DataFrame, now: datetime, hours: int) -> DataFrame:
    middle = now - timedelta(hours=hours)
    is_now = F.col("window_start") >= middle
    rate = F.col("arrival_per_second")
    in_window = (F.col("window_start") >= middle - timedelta(hours=hours)) & (
        F.col("window_start") < now
    )
    means = (
        topics.where(in_window)
        .groupBy("cluster", "topic")
        .agg(
            F.avg(F.when(~is_now, rate)).alias("before_per_second"),
            F.avg(F.when(is_now, rate)).alias("now_per_second"),
            F.count(F.when(~is_now, rate)).alias("hours_before"),
            F.count(F.when(is_now, rate)).alias("hours_now"),
            F.bool_or("generated").alias("generated"),
        )
    )
    change = F.col("now_per_second") - F.col("before_per_second")
    known = means.withColumn("change_per_second", change)
    known = known.where(F.col("change_per_second").isNotNull() & (F.col("change_per_second") != 0))
    sign = F.signum("change_per_second")
    alike = Window.partitionBy("cluster", sign)
    ranked = Window.partitionBy("cluster").orderBy(F.desc(F.abs("change_per_second")), "topic")
    return (
        known.withColumn(
            "share_ratio", F.col("change_per_second") / F.sum("change_per_second").over(alike)
        )
        .withColumn("rank", F.row_number().over(ranked))
        .where(F.col("rank") <= MOST_CONTRIBUTORS)
        .withColumn("span_seconds", F.lit(hours * HOUR_SECONDS))
    )
