"""Transactions that have been open for more than a minute."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import polars as pl

from collectors.errors import UnsupportedError
from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.schemas.tables import TRANSACTIONS


def collect(
    reads: ClusterReads, settings: ClusterSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the table ``transactions``; rows whenever they were read, if there are such."""
    _ = reads.metadata.value  # where no broker answers, the section fails as all others do
    rows = []
    try:
        found = reads.transactions.value
    except UnsupportedError:
        pass
    else:
        reads.problems.extend(found.problems)
        if found.is_new:
            rows = [asdict(one) for one in found.transactions]
    return {"transactions": frame(TRANSACTIONS, rows)}
