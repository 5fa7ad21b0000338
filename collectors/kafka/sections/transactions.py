"""Transactions that have been open for more than a minute."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

import polars as pl

from collectors.errors import UnsupportedError
from collectors.kafka.poll import due
from collectors.kafka.poll.reads import PollView
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.schemas.tables import TRANSACTIONS


def collect(client: PollView, settings: ClusterSettings, now: datetime) -> dict[str, pl.DataFrame]:
    """Return the table ``transactions``; rows whenever they were read, if there are such."""
    _ = client.metadata  # where no broker answers, the section fails as all others do
    rows = []
    try:
        found, problems = client.transactions
    except UnsupportedError:
        pass
    else:
        client.problems += problems
        if client.memory.due.is_new(due.TRANSACTIONS, client.tick):
            rows = [asdict(one) for one in found]
    return {"transactions": frame(TRANSACTIONS, rows)}
