"""Partitions: leaders, replicas, offsets, sizes."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from collectors.errors import CollectorError
from collectors.kafka.poll.reads import PollView
from config.settings import ClusterSettings

_KEY = ["topic", "partition"]


def collect(client: PollView, settings: ClusterSettings, now: datetime) -> dict[str, pl.DataFrame]:
    """Return the table ``partitions``."""
    rows = client.partitions.join(client.offsets, on=_KEY, how="left", maintain_order="left")
    unknown = rows.filter(pl.col("log_end").is_null())
    if unknown.height:
        reasons = ", ".join(sorted(set(unknown["offsets_unknown"].drop_nulls())))
        client.problems.append(
            f"the offsets of {unknown.height} of {rows.height} partitions are unknown: {reasons}"
        )
    rows = _with_reassignments(client, _with_sizes(client, rows))
    least = _least_in_sync(client)
    return {
        "partitions": rows.select(
            *_KEY,
            "topic_id",
            "leader",
            pl.col("replicas").list.first().alias("preferred_leader"),
            "replicas",
            "in_sync_replicas",
            "adding_replicas",
            "removing_replicas",
            pl.col("topic")
            .replace_strict(least, default=None, return_dtype=pl.Int32())
            .alias("min_in_sync_replicas"),
            "log_start",
            "log_end",
            "last_stable",
            "size_bytes",
            pl.col("offsets_unknown").alias("unknown_reason"),
        )
    }


def _with_sizes(client: PollView, rows: pl.DataFrame) -> pl.DataFrame:
    """Add the size of the leader's replica; null where log directories are not permitted."""
    try:
        _, sizes = client.log_directories
    except CollectorError:
        return rows.with_columns(pl.lit(None, pl.Int64()).alias("size_bytes"))
    of_leader = sizes.rename({"broker_id": "leader"})
    return rows.join(of_leader, on=["leader", *_KEY], how="left", maintain_order="left")


def _with_reassignments(client: PollView, rows: pl.DataFrame) -> pl.DataFrame:
    """Add which replicas come and go: empty lists where nothing moves, null where unknown."""
    names = ("adding_replicas", "removing_replicas")
    none = pl.lit([], pl.List(pl.Int32()))
    try:
        moving = client.reassignments
    except CollectorError as error:
        client.problems.append(f"reassignments are unknown: {error}")
        return rows.with_columns(pl.lit(None, pl.List(pl.Int32())).alias(name) for name in names)
    if moving.is_empty():
        return rows.with_columns(none.alias(name) for name in names)
    return rows.join(moving, on=_KEY, how="left", maintain_order="left").with_columns(
        pl.col(name).fill_null(none) for name in names
    )


def _least_in_sync(client: PollView) -> dict[str, int]:
    try:
        configs = client.configs
    except CollectorError as error:
        client.problems.append(f"min.insync.replicas is unknown: {error}")
        return {}
    least = {}
    for topic, config in configs.items():
        if not isinstance(config, str):
            value, _ = config.get("min.insync.replicas", (None, False))
            if value is not None:
                least[topic] = int(value)
    client.problems += client.config_problems
    return least
