"""The log of commits: how far it is read, and the rebalances of groups that it tells."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from collectors.kafka.poll.reads import PollView
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.schemas.tables import REBALANCES


def collect(client: PollView, settings: ClusterSettings, now: datetime) -> dict[str, pl.DataFrame]:
    """Return the table ``rebalances``: rows only where a watched group has rebalanced.

    A log that is not read to its end in time, and why, are problems; commits are estimated then.
    """
    _ = client.metadata  # where no broker answers, the section fails as all others do
    log = client.memory.commit_log
    if log is None:  # switched off, or the first poll
        return {"rebalances": frame(REBALANCES, [])}
    found, problems = log.rebalances()
    client.problems += log.state.complaints
    if "rebalances" in settings.switched_off:
        return {"rebalances": found.clear()}
    client.problems += problems
    return {"rebalances": found.filter(client.selects_groups(found["group"]))}
