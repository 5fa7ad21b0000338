"""The metadata quorum: its leader, the voters and observers, and how far each is behind."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import polars as pl

from collectors.errors import CollectorError, UnsupportedError
from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.schemas.tables import QUORUM


def collect(
    reads: ClusterReads, settings: ClusterSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the table ``quorum``; it has no rows where the brokers do not tell of one."""
    _ = reads.metadata.value  # where no broker answers, the section fails as all others do
    rows = []
    try:
        found = reads.quorum.value
    except UnsupportedError:
        pass
    except CollectorError as error:
        reads.report("the quorum is unknown", error)
    else:
        if found.leader is None:
            reads.problems.append("the quorum has no leader: there is no active controller")
        rows = [asdict(node) for node in found.nodes]
    return {"quorum": frame(QUORUM, rows)}
