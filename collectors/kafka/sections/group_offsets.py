"""Committed offsets against the ends of the logs: lag."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.kafka.poll.group_lags import FACTS
from config.settings import ClusterSettings


def collect(
    reads: ClusterReads, settings: ClusterSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the table ``group_offsets``."""
    rows, groups = reads.group_lags.value, reads.groups.value
    unknown = rows.filter(pl.col("lag").is_null() & ~pl.col("unknown_reason").is_in(FACTS)).height
    if unknown:
        reads.problems.append(f"the lag of {unknown} of {rows.height} group partitions is unknown")
    if groups.offsets_unknown:
        reads.problems.append(
            f"the committed offsets of {len(groups.offsets_unknown)} groups are unknown"
        )
    reads.problems.extend(groups.problems)
    return {"group_offsets": rows}
