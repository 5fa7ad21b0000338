"""The columns of ``group_offsets`` that tell when and how often a group commits."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from collectors.kafka.commit_log.estimate import KEY, LOG, estimate
from collectors.kafka.poll.reads import PollView


def with_commits(client: PollView, rows: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Add committed_at, commits_per_second and commit_source.

    Their source is the log of commits where that was read to its end lately (``log``), otherwise
    the changes of the committed offsets (``estimate``). All are null where no commit is known.
    """
    memory = client.memory
    if memory.commit_log is not None:
        memory.commit_log.meet(client.metadata)
        reported = memory.commit_log.latest().drop("log_committed")
        reported = reported.with_columns(pl.lit(LOG).alias("commit_source"))
        # A key is there twice once the log has more partitions: old records stay where they were.
        newest = reported.sort("committed_at").unique(KEY, keep="last")
        rows = rows.join(newest, on=KEY, how="left", maintain_order="left", validate="1:1")
    else:
        rows = rows.with_columns(
            pl.lit(None, pl.Datetime("us", "UTC")).alias("committed_at"),
            pl.lit(None, pl.Float64()).alias("commits_per_second"),
            pl.lit(None, pl.String()).alias("commit_source"),
        )
    rows, memory.commits_seen = estimate(rows, memory.commits_seen, now)
    return rows
