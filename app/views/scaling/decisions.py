"""Advice as a table: a row a change, in an order that stays. Pure functions."""

from __future__ import annotations

from collections import Counter

import polars as pl

from app.style.format import thin
from app.ui.advice_cards import BADGE_STYLES, WORDS, headline
from app.ui.tables import Column
from scaling.advice.advice_table import from_row
from scaling.advice.model import AdviceSeverity

COLUMNS = {
    "urgency": Column("urgency", "status", badge_styles=list(BADGE_STYLES.values()), width=110),
    "what": Column("change", width=250, pinned=True),
    "why": Column("why", width=170),
    "otherwise": Column("if nothing is done", unknown="", width="large"),
    "confidence": Column("confidence", width=100),
}
"""The columns of the table; the card beside it has the evidence."""


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of ``recommendations`` by urgency, what was given first before what came later.

    Savings and deadlines move with the rates; a row that moves under the mouse is clicked by
    mistake.
    """
    severity = pl.col("severity").cast(pl.Enum([one.value for one in AdviceSeverity]))
    return rows.sort(severity, "valid_from", "subject", "kind", maintain_order=True)


def labels(listed: pl.DataFrame) -> list[str]:
    """Return each row's advice in a line, no two of them alike."""
    seen: Counter[str] = Counter()
    found = []
    for row in listed.iter_rows(named=True):
        label = headline(from_row(row))
        seen[label] += 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found


def rows(listed: pl.DataFrame) -> pl.DataFrame:
    """Return one row a piece of advice, with the columns of ``COLUMNS``."""
    each = [from_row(row) for row in listed.iter_rows(named=True)]
    return pl.DataFrame(
        {
            "urgency": [[BADGE_STYLES[one.severity].label] for one in each],
            "what": labels(listed),
            "why": [WORDS[one.kind] for one in each],
            "otherwise": [thin(one.consequence) if one.consequence else None for one in each],
            "confidence": [one.confidence.value for one in each],
        },
        schema={
            "urgency": pl.List(pl.String()),
            "what": pl.String(),
            "why": pl.String(),
            "otherwise": pl.String(),
            "confidence": pl.String(),
        },
    )
