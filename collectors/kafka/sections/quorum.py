"""The metadata quorum: its leader, the voters and observers, and how far each is behind."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import polars as pl

from collectors.errors import CollectorError, UnsupportedError
from collectors.kafka.poll.reads import PollView
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.schemas.tables import QUORUM


def collect(client: PollView, settings: ClusterSettings, now: datetime) -> dict[str, pl.DataFrame]:
    """Return the table ``quorum``; it has no rows where the brokers do not tell of one."""
    _ = client.metadata  # where no broker answers, the section fails as all others do
    rows = []
    try:
        found = client.quorum
    except UnsupportedError:
        pass
    except CollectorError as error:
        client.report("the quorum is unknown", error)
    else:
        if found.leader is None:
            client.problems.append("the quorum has no leader: there is no active controller")
        rows = [asdict(node) for node in found.nodes]
    return {"quorum": frame(QUORUM, rows)}
