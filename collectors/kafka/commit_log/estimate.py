"""Commit times from committed offsets alone, where the log of commits is not read.

A changed offset says that there was a commit between two polls, and nothing says how many there
were, nor is a commit seen that repeats the offset. Hence the time is late by up to the time
between two polls, and the rate is a lower bound: at most one commit a poll is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

KEY = ["group", "topic", "partition"]

WINDOW_SECONDS = 300.0
"""Changes are counted over one to two windows."""

SHORTEST_WINDOW_SECONDS = 30.0
"""Below that, no rate is reported."""

LOG, ESTIMATE = "log", "estimate"
"""The values of ``commit_source``."""

_TIME = pl.Datetime("us", "UTC")
_SEEN_SCHEMA = pl.Schema(
    {
        "group": pl.String(),
        "topic": pl.String(),
        "partition": pl.Int32(),
        "seen_committed": pl.Int64(),
        "seen_at": _TIME,
        "since": _TIME,
        "changes": pl.Int32(),
        "changes_before": pl.Int32(),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitsSeen:
    """What earlier polls saw.

    Attributes:
        rows: One row a group partition: the offset and the time of its last commit as far as they
            are known, since when it is watched, its changes in this window and in the one before.
        window_at: When this window began; None before the first poll.
    """

    rows: pl.DataFrame
    window_at: datetime | None = None
    before_at: datetime | None = None

    def shifted(self, by: timedelta) -> CommitsSeen:
        """Return the same with all times moved: this machine's clock was set."""
        return CommitsSeen(
            rows=self.rows.with_columns(pl.col("seen_at", "since") + by),
            window_at=self.window_at and self.window_at + by,
            before_at=self.before_at and self.before_at + by,
        )


NOTHING_SEEN = CommitsSeen(rows=pl.DataFrame(schema=_SEEN_SCHEMA))


def estimate(
    rows: pl.DataFrame, seen: CommitsSeen, now: datetime
) -> tuple[pl.DataFrame, CommitsSeen]:
    """Fill in commit time and rate where the log did not tell them.

    Args:
        rows: group, topic, partition, committed, and committed_at, commits_per_second,
            commit_source as the log tells them or null.
        seen: What earlier polls saw.
        now: The time of this poll.

    Returns:
        The rows in the same order, and what the next poll has to know. An estimated committed_at
        is null until a change was seen, unless the log reported the commit before; an estimated
        commits_per_second is null below ``SHORTEST_WINDOW_SECONDS``.
    """
    window_at = seen.window_at or now
    moment = pl.lit(now).cast(_TIME)
    joined = rows.join(seen.rows, on=KEY, how="left", maintain_order="left", validate="1:1")
    estimated = pl.col("commit_source").is_null() & pl.col("committed").is_not_null()
    changed = (pl.col("committed") != pl.col("seen_committed")).fill_null(False)
    joined = joined.with_columns(
        pl.when(estimated)
        .then(pl.when(changed).then(moment).otherwise("seen_at"))
        .otherwise("committed_at")
        .alias("committed_at"),
        pl.coalesce("committed", "seen_committed").alias("seen_committed"),
        pl.coalesce("since", moment).alias("since"),
        (pl.col("changes").fill_null(0) + changed.cast(pl.Int32())).alias("changes"),
        pl.col("changes_before").fill_null(0),
        estimated.alias("estimated"),
    )
    start = pl.max_horizontal("since", pl.lit(seen.before_at or window_at).cast(_TIME))
    elapsed = (moment - start).dt.total_microseconds() / 1e6
    joined = joined.with_columns(
        pl.when("estimated", elapsed >= SHORTEST_WINDOW_SECONDS)
        .then((pl.col("changes") + pl.col("changes_before")) / elapsed)
        .when(~pl.col("estimated"))
        .then("commits_per_second")
        .alias("commits_per_second"),
        pl.when("estimated")
        .then(pl.lit(ESTIMATE))
        .otherwise("commit_source")
        .alias("commit_source"),
        pl.coalesce("committed_at", "seen_at").alias("seen_at"),
    )
    after = CommitsSeen(
        rows=joined.select(_SEEN_SCHEMA.names()), window_at=window_at, before_at=seen.before_at
    )
    return joined.select(rows.columns), _turned(after, window_at, now)


def _turned(seen: CommitsSeen, window_at: datetime, now: datetime) -> CommitsSeen:
    """Begin a new window where the present one is over; what this poll saw is in the old one."""
    if (now - window_at).total_seconds() < WINDOW_SECONDS:
        return seen
    rows = seen.rows.with_columns(
        pl.col("changes").alias("changes_before"), pl.lit(0, pl.Int32()).alias("changes")
    )
    return CommitsSeen(rows=rows, window_at=now, before_at=window_at)
