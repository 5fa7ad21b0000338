"""Partitions: leaders, replicas, offsets, sizes."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from collectors.errors import CollectorError, UnsupportedError
from collectors.kafka.cluster.broker_reads import with_reassignments
from collectors.kafka.cluster.eligible_leaders import ELIGIBLE_SCHEMA
from collectors.kafka.cluster.offsets import slowest_follower
from collectors.kafka.cluster.tiered_storage import TIERED_SCHEMA
from collectors.kafka.cluster.topic_config import config_number
from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.kafka.poll.topic_configs import config_problems
from collectors.source.answer import LARGEST_INT
from config.settings import ClusterSettings

_KEY = ["topic", "partition"]


def collect(
    reads: ClusterReads, settings: ClusterSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the table ``partitions``."""
    reads.problems.extend(reads.metadata.value.problems)
    rows = reads.topics.value.partitions.join(
        reads.offsets.value, on=_KEY, how="left", maintain_order="left", validate="1:1"
    )
    unknown = rows.filter(pl.col("log_end").is_null())
    if unknown.height:
        reasons = ", ".join(sorted(set(unknown["offsets_unknown"].drop_nulls())))
        reads.problems.append(
            f"the offsets of {unknown.height} of {rows.height} partitions are unknown: {reasons}"
        )
    rows = _with_reassignments(reads, _with_sizes(reads, rows))
    rows = _with_follower_lag(reads, rows)
    rows = _with_eligible_leaders(reads, rows)
    rows = _with_tiers(reads, rows)
    least = _least_in_sync(reads)
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
            "eligible_leader_replicas",
            "follower_lag",
            "local_log_start",
            "remote_log_end",
            pl.col("offsets_unknown").alias("unknown_reason"),
        )
    }


def _with_sizes(reads: ClusterReads, rows: pl.DataFrame) -> pl.DataFrame:
    """Add the size of the leader's replica; null where log directories are not permitted."""
    try:
        sizes = reads.disks.value.sizes
    except CollectorError:
        return rows.with_columns(pl.lit(None, pl.Int64()).alias("size_bytes"))
    of_leader = sizes.rename({"broker_id": "leader"})
    return rows.join(of_leader, on=["leader", *_KEY], how="left", maintain_order="left")


def _with_follower_lag(reads: ClusterReads, rows: pl.DataFrame) -> pl.DataFrame:
    """Add how many records replicas that are not in sync are behind: 0 where all are."""
    try:
        lags = reads.follower_lag.value
    except CollectorError:  # it is not asked for
        return rows.with_columns(pl.lit(None, pl.Int64()).alias("follower_lag"))
    lacking = slowest_follower(rows, lags).with_columns(pl.lit(True).alias("lacks"))
    return rows.join(lacking, on=_KEY, how="left", maintain_order="left").with_columns(
        pl.when(pl.col("lacks").is_null()).then(0).otherwise("follower_lag").alias("follower_lag")
    )


def _with_eligible_leaders(reads: ClusterReads, rows: pl.DataFrame) -> pl.DataFrame:
    """Add who may lead partitions without a leader; null where that is unknown or not asked."""
    try:
        eligible = reads.eligible_leaders.value
    except CollectorError as error:
        if not isinstance(error, UnsupportedError):
            reads.report("eligible leader replicas are unknown", error)
        eligible = pl.DataFrame(schema=ELIGIBLE_SCHEMA)
    return rows.join(eligible, on=_KEY, how="left", maintain_order="left")


def _with_tiers(reads: ClusterReads, rows: pl.DataFrame) -> pl.DataFrame:
    """Add where the log on the disks begins and the one in remote storage ends.

    Both are null where the topic is not tiered.
    """
    try:
        tiers = reads.tiered.value
    except CollectorError:  # no topic is known to be tiered
        tiers = pl.DataFrame(schema=TIERED_SCHEMA)
    unknown = tiers.drop_nulls("tiered_unknown")
    if unknown.height:
        reasons = ", ".join(sorted(set(unknown["tiered_unknown"])))
        reads.problems.append(
            f"what of {unknown.height} partitions lies in remote storage is unknown: {reasons}"
        )
    # Where nothing was copied yet, remote storage ends where the log begins.
    return rows.join(tiers, on=_KEY, how="left", maintain_order="left").with_columns(
        pl.when(pl.col("remote_log_end").is_not_null())
        .then(pl.max_horizontal("remote_log_end", "log_start"))
        .alias("remote_log_end")
    )


def _with_reassignments(reads: ClusterReads, rows: pl.DataFrame) -> pl.DataFrame:
    """Add which replicas come and go: empty lists where nothing moves, null where unknown."""
    try:
        return with_reassignments(rows, reads.reassignments.value)
    except CollectorError as error:
        reads.report("reassignments are unknown", error)
        unknown = pl.lit(None, pl.List(pl.Int32()))
        return rows.with_columns(
            unknown.alias("adding_replicas"), unknown.alias("removing_replicas")
        )


def _least_in_sync(reads: ClusterReads) -> dict[str, int]:
    try:
        configs = reads.configs.value
    except CollectorError as error:
        reads.report("min.insync.replicas is unknown", error)
        return {}
    least = {}
    for topic, config in configs.items():
        if not isinstance(config, str):
            number = config_number(config, "min.insync.replicas", LARGEST_INT)
            if number is not None:
                least[topic] = number
    reads.problems.extend(config_problems(configs))
    return least
