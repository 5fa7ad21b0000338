"""What the readers of an origin had left when they read again: pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, tzinfo
from typing import Any

import polars as pl

from alerting.inputs.facts import RATE_SECONDS
from app.style.format import clock


def readers_of(row: Mapping[str, Any], readers: pl.DataFrame | None) -> list[str]:
    """Return the groups that read the origin of a topic and do not redrive it.

    Args:
        row: A row of ``table_rows``.
        readers: Rows of ``readers``.
    """
    if readers is None or row["origin"] is None:
        return []
    of_origin = readers.filter(pl.col("topic") == row["origin"])["group"].unique().sort()
    return [group for group in of_origin if group != row["redrive_group"]]


def of_backlog(back: tuple[str, datetime] | None, now: datetime, zone: tzinfo) -> str:
    """Say that arrivals are also of what a reader of the origin had left; nothing where not so.

    That is so while the mean of arrivals reaches back to the moment at which it read again.

    Args:
        back: Which reader read again last, and since when.
        now: The present.
        zone: The viewer's zone.
    """
    if back is None or now - back[1] > timedelta(seconds=RATE_SECONDS):
        return ""
    group, at = back
    since = clock(at, zone, now=now)
    return f"Arriving includes old messages of a backlog: {group} reads again since {since}."
