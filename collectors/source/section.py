"""What a collector is, and how one is run: the edge at which its failure stops nothing else.

A collector is a function ``collect(client, settings, now) -> {table: rows}``. It asks one system
over ``client``, and returns rows without the columns that every sample has. It adds to
``client.problems`` what stayed unknown, and raises ``CollectorError`` where nothing could be read.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

import polars as pl

from collectors.errors import CollectorError, SwitchedOffError
from collectors.source.model import SectionResult, Status
from collectors.source.repeat_filter import RepeatFilter
from config.secret import hide
from lake.schemas.tables import TABLES

log = logging.getLogger(__name__)
_faults = RepeatFilter()


class Client(Protocol):
    """What every client of a collector has."""

    @property
    def problems(self) -> list[str]:
        """What stayed unknown so far in this section; one line for the operator each."""


C = TypeVar("C", bound=Client)
S = TypeVar("S")

Collector = Callable[[C, S, datetime], dict[str, pl.DataFrame]]
"""``collect(client, settings, now)``: rows by table name."""


def run_collector(
    name: str,
    collect: Collector[C, S],
    client: C,
    settings: S,
    now: datetime,
    read_seconds: float = 0.0,
) -> SectionResult:
    """Run one collector: whatever it raises becomes a failed section.

    Args:
        name: The section's name.
        collect: The collector.
        client: What it asks, or has read before.
        settings: Its settings.
        now: When the poll began.
        read_seconds: How long the reads took that were done before.
    """
    started_at = datetime.now(UTC) - timedelta(seconds=read_seconds)
    start = time.monotonic() - read_seconds
    client.problems.clear()
    status: Status = "ok"
    error = None
    frames: dict[str, pl.DataFrame] = {}
    try:
        frames = {
            table: _distinct(table, rows, client.problems)
            for table, rows in collect(client, settings, now).items()
        }
    except SwitchedOffError:
        pass  # nothing was asked for, nothing is missing
    except CollectorError as failure:
        status, error = "failed", hide(str(failure))
    except Exception as failure:  # a fault of ours in one section must not stop the others
        status, error = "failed", hide(f"{type(failure).__name__}: {failure}")
        if _faults.should_log((name, type(failure).__name__), error):
            log.exception("section=%s", name)
    else:
        if client.problems:
            status, error = "partial", hide("; ".join(dict.fromkeys(client.problems)))
    return SectionResult(
        section=name,
        started_at=started_at,
        duration_seconds=time.monotonic() - start,
        status=status,
        error=error,
        frames=frames,
    )


def _distinct(table: str, rows: pl.DataFrame, problems: list[str]) -> pl.DataFrame:
    """Return rows of which no two have the same key, whatever the source has answered."""
    found = TABLES[table].distinct(rows)
    if twice := rows.height - found.height:
        problems.append(f"{table}: {twice} rows were answered twice and are left out")
    return found
