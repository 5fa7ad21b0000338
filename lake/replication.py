"""Whether a partition is under-replicated, under min ISR or offline: rows of ``partitions``."""

from __future__ import annotations

import polars as pl

_IN_SYNC = pl.col("in_sync_replicas").list.len()

IS_OFFLINE = pl.col("leader").is_null()
"""No replica leads it: it can be neither read nor written."""

IS_UNDER_REPLICATED = _IN_SYNC < (
    pl.col("replicas").list.len() - pl.col("adding_replicas").list.len().fill_null(0)
)
"""In-sync replicas < replicas; null where either is unknown.

A replica that a reassignment is just adding is not expected yet, as in Kafka's own metric
``UnderReplicatedPartitions``; where reassignments are unknown, it is.
"""

IS_UNDER_MIN_ISR = _IN_SYNC < pl.col("min_in_sync_replicas")
"""In-sync replicas < min.insync.replicas; null where either is unknown."""


def number_of(is_so: pl.Expr) -> pl.Expr:
    """Return how many rows are so; null where none is known to be and one does not tell."""
    found = is_so.sum()
    return pl.when((found > 0) | (is_so.null_count() == 0)).then(found)


def with_replication(partitions: pl.DataFrame) -> pl.DataFrame:
    """Add ``is_under_replicated``, ``is_under_min_isr`` and ``is_offline``."""
    return partitions.with_columns(
        IS_UNDER_REPLICATED.alias("is_under_replicated"),
        IS_UNDER_MIN_ISR.alias("is_under_min_isr"),
        IS_OFFLINE.alias("is_offline"),
    )
