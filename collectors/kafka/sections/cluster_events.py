"""What changed in the cluster since the poll before."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import polars as pl

from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.schemas.tables import CLUSTER_EVENTS


def collect(
    reads: ClusterReads, settings: ClusterSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the table ``cluster_events``: rows only where something changed."""
    found = reads.changes.value
    reads.problems.extend(found.problems)
    return {"cluster_events": frame(CLUSTER_EVENTS, [asdict(event) for event in found.events])}
