"""Skew, unusual lag and what a cluster's growth comes from: frames in, frames out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pandas as pd  # type: ignore[import-untyped]  # it ships no types
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from alerting.current.skew import skew
from lake.schemas.tables import SKEW
from spark_metrics.derived.series import DAY, HOUR_SECONDS, WEEK
from spark_metrics.derived.tables import fields, names_of

LEAST_SCORE = 3.0
"""So many times as far above what is usual as the usual upper end is."""
LEAST_LAG = 10
"""A group that commits in steps is a few messages behind all the time."""
MOST_CONTRIBUTORS = 50
_MONDAY_OF_EPOCH = 72


def skewed(partitions: DataFrame, start: datetime, end: datetime) -> DataFrame:
    """Return the rows of ``skew``: for each group, and for each topic that a group reads.

    Args:
        partitions: Hours of ``group_partition_history`` from start to end.
        start: The first hour.
        end: The end of the last one.
    """
    read = partitions.groupBy("cluster", "group", "topic", "partition").agg(
        F.sum("arrived").alias("arrived"),
        F.sum("arrived_seconds").alias("seconds"),
        F.bool_or("generated").alias("generated"),
    )
    # Every group sees the same log: the one that was watched longest tells most of it.
    longest = Window.partitionBy("cluster", "topic", "partition").orderBy(
        F.desc_nulls_last("seconds"), "group"
    )
    own = read.withColumn("_rank", F.row_number().over(longest)).where("_rank = 1").drop("_rank")
    own = own.withColumn("group", F.lit(None).cast("string"))
    rate = F.when(F.col("seconds") > 0, F.col("arrived") / F.col("seconds"))
    topics = (
        read.unionByName(own)
        .groupBy("cluster", "group", "topic")
        .agg(
            F.collect_list("partition").alias("numbers"),
            F.collect_list(F.coalesce(rate, F.lit(float("nan")))).alias("rates"),
            F.sum("arrived").alias("messages"),
            F.max("seconds").alias("seconds"),
            F.bool_or("generated").alias("generated"),
        )
    )
    span, names = (end - start).total_seconds(), names_of(SKEW)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            rows = [_skew_row(one, start, span) for one in batch.to_dict("records")]
            yield pd.DataFrame(rows, columns=names, dtype=object)

    return topics.mapInPandas(work, fields(SKEW))


def _skew_row(topic: dict[str, Any], start: datetime, span: float) -> dict[str, Any]:
    pairs = zip(topic["numbers"], topic["rates"], strict=True)
    rates = {int(number): None if rate != rate else float(rate) for number, rate in pairs}
    seconds = topic["seconds"]
    found = skew(rates, span_seconds=span if seconds != seconds or seconds is None else seconds)
    messages = topic["messages"]
    return {
        "cluster": topic["cluster"],
        "group": topic["group"],
        "topic": topic["topic"],
        "window_start": start,
        "window_seconds": span,
        "partitions": len(rates),
        "messages": None if messages is None or messages != messages else int(messages),
        "busiest_partition": found.busiest,
        "busiest_ratio": found.busiest_ratio,
        "even_ratio": found.even_ratio,
        "hot_partitions": list(found.hot),
        "unknown_reason": found.unknown_reason,
        "generated": topic["generated"],
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
    span = (F.col("window_start") >= middle - timedelta(hours=hours)) & (
        F.col("window_start") < now
    )
    means = (
        topics.where(span)
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
