"""From what a poll yielded to rows of the lake."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

import polars as pl

from collectors.source.model import SectionResult
from lake.schemas.model import Table
from lake.schemas.tables import COLLECTIONS, QUORUM, TABLES, WRITTEN_EVERY_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What the rows of a poll carry.

    Attributes:
        source: The source's name; in rows of ``collections`` only.
        observed_at: When the poll began (UTC).
    """

    source: str
    cluster: str
    observed_at: datetime
    poll_id: str

    @staticmethod
    def new(source: str, cluster: str, now: datetime) -> Stamp:
        """Return the stamp of a poll that begins now."""
        return Stamp(source=source, cluster=cluster, observed_at=now, poll_id=uuid.uuid4().hex)

    def on(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the frame with the columns that every sample has."""
        return frame.with_columns(_columns_of(self))


@lru_cache(16)
def _columns_of(stamp: Stamp) -> tuple[pl.Expr, ...]:
    """Return the columns; a poll has many sections, and a time is dear to make."""
    return (
        pl.lit(stamp.cluster).alias("cluster"),
        pl.lit(stamp.observed_at).cast(pl.Datetime("us", "UTC")).alias("observed_at"),
        pl.lit(stamp.poll_id).alias("poll_id"),
    )


class Seldom:
    """When rows are due of a table that changes at each poll, and that few look at."""

    def __init__(self) -> None:
        self._every = timedelta(seconds=WRITTEN_EVERY_SECONDS[QUORUM.name])
        self._written: dict[tuple[str, str], datetime] = {}

    def is_due(self, table: Table, stamp: Stamp) -> bool:
        """Return whether a poll's rows are to be written; they count as written then."""
        if table is not QUORUM:
            return True
        stream, now = (stamp.cluster, stamp.source), stamp.observed_at
        last = self._written.get(stream)
        if last is not None and timedelta(0) <= now - last < self._every:
            return False
        self._written[stream] = now
        return True


def own_name() -> str:
    """Return host and process id of this process, as leases name it."""
    return f"{socket.gethostname()}/{os.getpid()}"


def rows_of(
    result: SectionResult, stamp: Stamp, interval_seconds: float | None
) -> Iterator[tuple[Table, pl.DataFrame]]:
    """Return the rows of a section by table, its row of ``collections`` last."""
    for name, frame in result.frames.items():
        yield TABLES[name], stamp.on(frame)
    row = {
        "source": stamp.source,
        "section": result.section,
        "started_at": result.started_at,
        "duration_seconds": result.duration_seconds,
        "interval_seconds": interval_seconds,
        "status": result.status,
        "error": result.error,
        "rows": result.rows,
        "collector": own_name(),
    }
    schema = {name: COLLECTIONS.polars_schema[name] for name in row}
    yield COLLECTIONS, stamp.on(pl.DataFrame([row], schema=schema))
