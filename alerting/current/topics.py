"""Rows of the present that tell of topics: pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import polars as pl

from alerting.current.skew import Skew, skew
from alerting.inputs.facts import at_newest_poll, complete_sum, slowest_first
from alerting.inputs.frames import Frames
from alerting.status.model import DEFAULT_STATUS_RULES
from lake.change_encoding.expand import series_ids
from lake.replication import with_replication
from lake.schemas.tables import PARTITIONS, TOPICS

REPLICATION: tuple[str, ...] = (
    "offline",
    "under min ISR",
    "under-replicated",
    "unknown",
    "in sync",
)
"""What can be wrong with a partition's replicas, the worst first."""

RATE_WINDOW = timedelta(seconds=DEFAULT_STATUS_RULES.half_window_seconds)
"""The time that rates are means of: of a topic as of the groups that read it."""

_KEY = ("topic", "partition")


def replication() -> pl.Expr:
    """Return the worst that is wrong with a row of ``with_replication``, as ``replication``."""
    return (
        pl.when(pl.col("is_offline"))
        .then(pl.lit("offline"))
        .when(pl.col("is_under_min_isr"))
        .then(pl.lit("under min ISR"))
        .when(pl.col("is_under_replicated"))
        .then(pl.lit("under-replicated"))
        .when(pl.col("is_under_replicated").is_null())
        .then(pl.lit("unknown"))
        .otherwise(pl.lit("in sync"))
        .cast(pl.Enum(REPLICATION))
        .alias("replication")
    )


def newest_partitions(frames: Frames) -> pl.DataFrame:
    """Return the newest poll's rows of ``partitions``, with ``replication``."""
    return with_replication(at_newest_poll(frames.rows(PARTITIONS))).with_columns(replication())


def topic_rows(frames: Frames, partitions: pl.DataFrame, readers: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``topic_status``."""
    settings = (
        frames.rows(TOPICS)
        .sort("observed_at")
        .unique("topic", keep="last")
        .select(
            "topic",
            "kind",
            pl.col("partitions").alias("_partitions"),
            "replication_factor",
            "min_in_sync_replicas",
            "retention_seconds",
            "retention_bytes",
            "cleanup_policy",
            pl.col("unknown_reason").alias("_unknown_reason"),
            pl.col("observed_at").alias("_described_at"),
        )
    )
    held = pl.col("log_end") - pl.col("log_start")
    present = partitions.group_by("topic").agg(
        pl.len().alias("partitions"),
        pl.col("replication").min(),
        complete_sum(pl.col("size_bytes")).alias("size_bytes"),
        complete_sum(held).alias("retained"),
        pl.col("observed_at").first(),
    )
    # A topic that the newest poll lacks was deleted since its settings were last written.
    rows = present.join(settings, on="topic", how="left" if present.height else "right")
    read = (
        slowest_first(readers)
        .group_by("topic", maintain_order=True)
        .agg(
            pl.len().alias("groups"),
            pl.col("group").first().alias("slowest_group"),
            pl.col("time_lag_seconds").first().alias("slowest_time_lag_seconds"),
        )
    )
    return (
        rows.join(_traffic(frames.rows(PARTITIONS), partitions), on="topic", how="left")
        .join(read, on="topic", how="left")
        .with_columns(
            pl.coalesce("partitions", "_partitions"),
            pl.col("groups").fill_null(0),
            pl.when(pl.col("slowest_time_lag_seconds").is_not_null())
            .then("slowest_group")
            .alias("slowest_group"),
            pl.coalesce("_unknown_reason", "_skew_unknown").alias("unknown_reason"),
            pl.coalesce("observed_at", "_described_at"),
            pl.col("replication").cast(pl.String).fill_null("unknown"),
        )
        .sort("topic")
    )


def arrivals(partitions: pl.DataFrame) -> pl.DataFrame:
    """Return how much arrives in each partition.

    Returns:
        ``cluster``, ``topic``, ``partition``, ``span_seconds`` and ``arrival_per_second``: null
        where the log was cut back meanwhile, or only one poll knows it.
    """
    at = pl.col("observed_at").dt.epoch("us") / 1e6
    # Numbers instead of names, each series together: that sorts and groups in a third of the time.
    known = partitions.filter(pl.col("log_end").is_not_null())
    rows = known.select(
        series_ids(known, ("cluster", *_KEY)),
        "cluster",
        *_KEY,
        "log_end",
        at.alias("at"),
    )
    if not rows["at"].is_sorted():
        rows = rows.sort("at")
    rows = rows.sort("_series", maintain_order=True)
    is_same = pl.col("_series") == pl.col("_series").shift(1)
    return (
        rows.with_columns(
            (is_same & (pl.col("log_end") < pl.col("log_end").shift(1))).alias("is_cut")
        )
        .group_by("_series", maintain_order=True)
        .agg(
            pl.col("cluster", *_KEY).first(),
            (pl.col("at").last() - pl.col("at").first()).alias("span_seconds"),
            (pl.col("log_end").last() - pl.col("log_end").first()).alias("arrived"),
            pl.col("is_cut").any(),
        )
        .select(
            "cluster",
            *_KEY,
            "span_seconds",
            pl.when(pl.col("span_seconds") > 0, ~pl.col("is_cut"))
            .then(pl.col("arrived") / pl.col("span_seconds"))
            .alias("arrival_per_second"),
        )
    )


def _traffic(recent: pl.DataFrame, newest: pl.DataFrame) -> pl.DataFrame:
    """Return what each topic receives and how unevenly it falls on its partitions.

    Its rate is of the same minutes as those of the groups that read it; how uneven it is takes all.
    """
    by_now = pl.col("observed_at").max() - RATE_WINDOW
    now = arrivals(recent.filter(pl.col("observed_at") >= by_now)).select(
        *_KEY, pl.col("arrival_per_second").alias("now")
    )
    rates = newest.select(*_KEY).join(arrivals(recent), on=_KEY, how="left", maintain_order="left")
    rates = rates.join(now, on=_KEY, how="left", maintain_order="left")
    by_topic = rates.group_by("topic").agg(
        "partition",
        pl.col("arrival_per_second").alias("rates"),
        pl.col("span_seconds").max(),
        # Of polls that are further apart than these minutes all count.
        complete_sum(pl.coalesce("now", "arrival_per_second")).alias("arrival_per_second"),
    )
    found: list[Skew] = [
        _skew(dict(zip(numbers, per_second, strict=True)), span or 0.0)
        for numbers, per_second, span in by_topic.select(
            "partition", "rates", "span_seconds"
        ).iter_rows()
    ]
    return by_topic.select("topic", "arrival_per_second").with_columns(
        pl.Series("busiest_ratio", [one.busiest_ratio for one in found], dtype=pl.Float64),
        pl.Series("even_ratio", [one.even_ratio for one in found], dtype=pl.Float64),
        pl.Series(
            "hot_partitions",
            [None if one.unknown_reason else list(one.hot) for one in found],
            dtype=pl.List(pl.Int32),
        ),
        pl.Series("_skew_unknown", [one.unknown_reason for one in found], dtype=pl.String),
    )


def _skew(rates: Mapping[int, float | None], span_seconds: float) -> Skew:
    """Return how unevenly a topic's traffic falls: an only partition has all, however little."""
    if len(rates) == 1 and None not in rates.values():
        return Skew(busiest=next(iter(rates)), busiest_ratio=1.0, even_ratio=1.0, hot=())
    return skew(rates, span_seconds=span_seconds)
