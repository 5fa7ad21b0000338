"""History of each cluster."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from lake.differences import minute_of, of_kafka
from lake.schemas.model import Column, Table
from spark_metrics.rollups.aggregates import flow_of_samples, total, windows
from spark_metrics.rollups.runs import Runs

SERIES = ("cluster",)
POLL = ("cluster", "observed_at")

_SUMS = (
    "topics",
    "partitions",
    "under_replicated",
    "under_min_isr",
    "offline",
    "groups",
    "lag",
    "brokers_known",
    "brokers_alive",
    "log_end_gain",
    "committed_gain",
    "resets",
    "failed",
)
_WORST = ("time_lag_seconds",)
_SHORTEST = ("log_end_seconds", "committed_seconds", "interval_seconds")
POLLS = Table(
    name="polls",
    layer="gold",
    columns=(
        Column("cluster", "string"),
        Column("observed_at", "timestamp"),
        *(Column(name, "int" if name == "resets" else "long") for name in _SUMS),
        *(Column(name, "double") for name in (*_WORST, *_SHORTEST)),
    ),
    time="observed_at",
    key=("cluster", "observed_at"),
)
"""What passes tell of each poll of each cluster: parts, which are never stored."""


def of_topics(topics: pl.DataFrame) -> pl.DataFrame:
    """Return the part of each poll that tells of topics.

    Args:
        topics: What polls saw of topics.
    """
    names = ("partitions", "under_replicated", "under_min_isr", "offline", "log_end_gain")
    columns = ["observed_at", "cluster", *names, "log_end_seconds", "resets"]
    return together([topics.select(pl.lit(1).alias("topics"), *columns)])


def of_groups(groups: pl.DataFrame) -> pl.DataFrame:
    """Return the part of each poll that tells of groups.

    Args:
        groups: What polls saw of groups.
    """
    columns = ["lag", "time_lag_seconds", "committed_gain", "committed_seconds"]
    return together([groups.select(*POLL, pl.lit(1).alias("groups"), *columns)])


def of_brokers(brokers: pl.DataFrame, collections: pl.DataFrame) -> pl.DataFrame:
    """Return the part of each poll that tells of brokers, and of the poll itself.

    Args:
        brokers: Rows of ``brokers``.
        collections: Rows of ``collections``; a skipped poll was none, and neither is the note
            of a collector whose samples could not be written, nor a poll of another system.
    """
    once = brokers.unique([*POLL, "broker_id"])
    polled = (pl.col("status").fill_null("") != "skipped") & (pl.col("section") != "lake")
    sections = collections.filter(polled & of_kafka())
    return together(
        [
            once.select(*POLL, pl.lit(1).alias("brokers_known"), brokers_alive="is_alive"),
            sections.select(
                *POLL, "interval_seconds", failed=pl.col("status").is_in(["failed", "partial"])
            ),
        ]
    )


def together(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return one row a poll from its parts.

    What a section did not say stays null: a poll without brokers is not a poll of no brokers.
    """
    schema = {
        "cluster": pl.String(),
        "observed_at": pl.Datetime("us", "UTC"),
        **dict.fromkeys(_SUMS, pl.Int64()),
        **dict.fromkeys((*_WORST, *_SHORTEST), pl.Float64()),
    }
    rows = pl.concat(
        [
            part.select(
                (pl.col(name) if name in part.columns else pl.lit(None)).cast(type_).alias(name)
                for name, type_ in schema.items()
            )
            for part in parts
        ]
    )
    return rows.group_by(*POLL).agg(
        *(total(name) for name in _SUMS),
        *(pl.col(name).max() for name in _WORST),
        *(pl.col(name).min() for name in _SHORTEST),
    )


def cluster_minutes(polls: pl.DataFrame) -> pl.DataFrame:
    """Roll what polls saw of clusters up to minutes.

    A poll is unknown when one of its sections failed, or worked in part only.

    Args:
        polls: What ``together`` returns.
    """
    names = ("topics", "partitions", "groups", "under_replicated", "under_min_isr", "offline")
    worst = ("under_replicated", "under_min_isr", "offline", "lag", "time_lag_seconds")
    rows = polls.with_columns(
        minute_of("observed_at").alias("window_start"),
        pl.col("cluster").rank("dense").alias("_series"),
        (pl.col("failed") > 0).fill_null(False).alias("_is_unknown"),
    )
    runs = Runs(rows.sort("_series", "observed_at"), "_series")
    aggregates = {
        "brokers_known_max": runs.most("brokers_known"),
        "brokers_alive_min": runs.least("brokers_alive"),
        **{f"{name}_last": runs.last(name) for name in (*names, "lag")},
        **{f"{name}_max": runs.most(name) for name in worst},
        **flow_of_samples(runs, "log_end", "arrived"),
        **flow_of_samples(runs, "committed", "consumed"),
        "resets": runs.total("resets"),
        "unknown_samples": runs.total("_is_unknown"),
        "samples": runs.lengths(),
        "interval_seconds": runs.least("interval_seconds"),
    }
    return windows(runs, SERIES, aggregates)
