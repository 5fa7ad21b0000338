"""The log of commits: how far it is read, and the rebalances of groups that it tells."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.schemas.tables import REBALANCES


def collect(
    reads: ClusterReads, settings: ClusterSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the table ``rebalances``: rows only where a watched group has rebalanced.

    A log that is not read to its end in time, and why, are problems; commits are estimated then.
    """
    report = reads.commit_log.value
    if report is None:  # switched off, or the first poll
        return {"rebalances": frame(REBALANCES, [])}
    reads.problems.extend(report.complaints)
    if "rebalances" in settings.switched_off:
        return {"rebalances": report.rebalances.clear()}
    reads.problems.extend(report.problems)
    return {"rebalances": report.rebalances}
