"""Which rows of the tables that checks look at are missing now."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from alerting.inputs.frames import KAFKA, STALE_INTERVALS, Frames, unix
from lake.schemas.model import Table
from lake.schemas.tables import COLLECTIONS, WRITTEN_EVERY_SECONDS

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class NoData:
    """Rows of a table that are missing now.

    Attributes:
        source: Whose they are: ``connect=main``; empty: of all sources.
        since: From when on some of them may be missing, in Unix seconds; None: all are.
    """

    source: Mapping[str, str] = field(default_factory=dict)
    since: float | None = None


def section_states(frames: Frames) -> pl.DataFrame:
    """Return each section's newest attempt with ``last_success_at``; a partial success counts."""
    worked = pl.col("status").is_in(["ok", "partial"])
    return (
        frames.rows(COLLECTIONS)
        .with_columns(pl.col("source").fill_null(KAFKA))
        .sort("observed_at")
        .group_by("source", "section", maintain_order=True)
        .agg(
            pl.all().last(),
            pl.col("observed_at").filter(worked).max().alias("last_success_at"),
        )
    )


def no_data(frames: Frames, table: Table, sections: pl.DataFrame) -> Iterator[NoData]:
    """Return which rows of a table are missing, for whatever reason.

    The table cannot be read; the newest attempt of its section failed, was never made or is too
    old; its rows are too old although the attempt worked; or the attempt worked in part.
    """
    if table.name in frames.errors or COLLECTIONS.name in frames.errors:
        yield NoData()
        return
    attempts = {
        row["source"]: row
        for row in sections.filter(pl.col("section") == table.name).iter_rows(named=True)
    }
    for source in sections["source"].unique(maintain_order=True):
        kind, _, name = source.partition("/")
        if kind not in table.collected_by:
            continue
        labels = {kind: name} if name else {}
        attempt = attempts.get(source)
        if attempt is None or _is_missing(frames, table, attempt, kind, name):
            yield NoData(source=labels)
        elif attempt["status"] == "partial":
            yield NoData(source=labels, since=_partial_since(frames, attempt))


def _is_missing(
    frames: Frames, table: Table, attempt: Mapping[str, Any], kind: str, name: str
) -> bool:
    tried_at = unix(attempt["observed_at"]) or 0.0
    if attempt["status"] not in ("ok", "partial"):
        return True
    if frames.now - tried_at > STALE_INTERVALS * frames.interval_seconds:
        return True
    every_seconds = WRITTEN_EVERY_SECONDS.get(table.name, 0.0)
    if attempt["rows"] == 0 and not every_seconds:
        return False  # there is nothing of it
    rows = frames.rows(table)
    if kind in rows.columns:
        rows = rows.filter(pl.col(kind) == name)
    return not frames.is_fresh(rows, every_seconds)


def _partial_since(frames: Frames, attempt: Mapping[str, Any]) -> float:
    """Return since when a section has said the same of what it cannot read; counts may vary.

    One interval is added: an evaluation in the middle of a poll still sees rows of the poll before.
    """
    since = attempt["observed_at"]
    said = _DIGITS.sub("", attempt["error"] or "")
    polls = frames.rows(COLLECTIONS).filter(
        pl.col("source").fill_null(KAFKA) == attempt["source"],
        pl.col("section") == attempt["section"],
    )
    for at, status, error in (
        polls.sort("observed_at", descending=True)
        .select("observed_at", "status", "error")
        .iter_rows()
    ):
        if status != "partial" or _DIGITS.sub("", error or "") != said:
            break
        since = at
    return (unix(since) or 0.0) + frames.interval_seconds
