"""From what a poll yielded to rows of the lake."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from collectors.source.model import SectionResult
from lake.schemas.model import Table
from lake.schemas.tables import COLLECTIONS, TABLES


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
        return frame.with_columns(
            pl.lit(self.cluster).alias("cluster"),
            pl.lit(self.observed_at).cast(pl.Datetime("us", "UTC")).alias("observed_at"),
            pl.lit(self.poll_id).alias("poll_id"),
        )


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
