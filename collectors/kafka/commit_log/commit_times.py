"""When and how often groups commit: from the log of commits, or from what polls see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from collectors.kafka.cluster.metadata import Metadata
from collectors.kafka.commit_log.estimate import KEY, LOG, NOTHING_SEEN, estimate
from collectors.kafka.commit_log.follower import CommitLog


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReport:
    """What the log of commits told since the poll before.

    Attributes:
        rebalances: Rows of the table ``rebalances``.
        problems: What is unknown of them.
        complaints: What keeps the log from being read.
    """

    rebalances: pl.DataFrame
    problems: Sequence[str]
    complaints: Sequence[str]


class CommitTimes:
    """The log of commits where it is followed, and what earlier polls saw of commits."""

    def __init__(self) -> None:
        """Estimate from the changes that polls see, until a log is followed."""
        self._log: CommitLog | None = None
        self._seen = NOTHING_SEEN

    @property
    def is_followed(self) -> bool:
        """Whether the log of commits is followed."""
        return self._log is not None

    def follow(self, log: CommitLog) -> None:
        """Take the times of commits from their log as far as it is read."""
        self._log = log

    def shift(self, seconds: float) -> None:
        """Move what was timed by this machine's clock, which was set."""
        self._seen = self._seen.shifted(timedelta(seconds=seconds))

    def add(self, rows: pl.DataFrame, metadata: Metadata, now: datetime) -> pl.DataFrame:
        """Add committed_at, commits_per_second and commit_source to rows of ``group_offsets``.

        Their source is the log of commits where that was read to its end lately (``log``),
        otherwise the changes of the committed offsets (``estimate``). All are null where no commit
        is known.
        """
        if self._log is not None:
            self._log.meet(metadata)
            reported = self._log.latest().drop("log_committed")
            reported = reported.with_columns(pl.lit(LOG).alias("commit_source"))
            # A key is there twice once the log has more partitions: old records stay where they
            # were.
            newest = reported.sort("committed_at").unique(KEY, keep="last")
            rows = rows.join(newest, on=KEY, how="left", maintain_order="left", validate="1:1")
        else:
            rows = rows.with_columns(
                pl.lit(None, pl.Datetime("us", "UTC")).alias("committed_at"),
                pl.lit(None, pl.Float64()).alias("commits_per_second"),
                pl.lit(None, pl.String()).alias("commit_source"),
            )
        rows, self._seen = estimate(rows, self._seen, now)
        return rows

    def report(self, selects: Callable[[str], bool]) -> LogReport | None:
        """Return what the log told of watched groups since the last call.

        It is None where the log is not followed.
        """
        if self._log is None:
            return None
        found, problems = self._log.rebalances()
        watched = pl.Series([selects(group) for group in found["group"]], dtype=pl.Boolean())
        return LogReport(
            rebalances=found.filter(watched),
            problems=problems,
            complaints=self._log.state.complaints,
        )

    def close(self) -> None:
        """End the following."""
        if self._log is not None:
            self._log.close()
