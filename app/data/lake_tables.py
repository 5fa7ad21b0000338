"""What the lake consists of: its tables, whether they can be read, and how large they are."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from app.style.theme import BadgeStyle
from lake.errors import LakeError
from lake.schemas.tables import TABLES
from lake.storage.store import Lake

TABLE_BADGE_STYLES: dict[str, BadgeStyle] = {
    "broken": BadgeStyle(
        word="unreadable",
        symbol="✖",
        icon=":material/error:",
        colour="red",
        meaning="It cannot be read.",
    ),
    "there": BadgeStyle(
        word="readable",
        symbol="✓",
        icon=":material/check:",
        colour="gray",
        meaning="It can be read.",
    ),
    "missing": BadgeStyle(
        word="not written yet",
        symbol="?",
        icon=":material/help:",
        colour="violet",
        meaning="It does not exist yet.",
    ),
}
"""How the states of tables look, in the order in which they are listed."""


def lake_rows(lake: Lake, now: datetime) -> pl.DataFrame:
    """Return what each table of the lake consists of; one that cannot be read says why."""
    found = []
    for name, table in TABLES.items():
        state, error, statistics = "there", None, None
        try:
            statistics = lake.statistics(table)
        except LakeError as problem:
            state, error = "broken", str(problem).partition(": ")[2].splitlines()[0]
        if statistics is None and error is None:
            state = "missing"
        written = statistics.written_at if statistics else None
        found.append(
            {
                "table": name,
                "layer": table.layer,
                "label": [TABLE_BADGE_STYLES[state].label],
                "state": state,
                "age_seconds": max(0.0, (now - written).total_seconds()) if written else None,
                "files": statistics.files if statistics else None,
                "size_bytes": statistics.size_bytes if statistics else None,
                "error": error,
            }
        )
    order = list(TABLE_BADGE_STYLES)
    return pl.DataFrame(
        found,
        schema={
            "table": pl.String,
            "layer": pl.String,
            "label": pl.List(pl.String),
            "state": pl.String,
            "age_seconds": pl.Float64,
            "files": pl.Int64,
            "size_bytes": pl.Int64,
            "error": pl.String,
        },
    ).sort(
        pl.col("state").replace_strict(order, list(range(len(order)))),
        maintain_order=True,
    )
