"""The advice that stands: what the job's newest round wrote down."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from config.storage import ADVICE_KEPT
from lake.schemas.tables import RECOMMENDATIONS
from lake.storage.store import Lake
from scaling.advice.model import AdviceSeverity

STANDS_FOR = timedelta(minutes=30)
"""The job advises every ten minutes; what was confirmed longer ago says nothing about now."""

_FIRST_GIVEN = ADVICE_KEPT + timedelta(days=1)
"""A row lies under the day on which its advice was first given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The advice on a cluster."""

    rows: pl.DataFrame  # rows of ``recommendations``, the most urgent first
    as_of: datetime | None  # when it was given; None: never

    def is_current(self, now: datetime) -> bool:
        """Return whether it says anything about the present."""
        return self.as_of is not None and now - self.as_of <= STANDS_FOR


def standing(lake: Lake, cluster: str, now: datetime) -> Standing:
    """Read the advice of the newest round on a cluster."""
    rows = lake.read(RECOMMENDATIONS, since=now - _FIRST_GIVEN, cluster=cluster)
    as_of = rows["confirmed_at"].max()
    newest = rows.filter(pl.col("confirmed_at") == pl.col("confirmed_at").max())
    return Standing(
        rows=most_urgent_first(newest), as_of=as_of if isinstance(as_of, datetime) else None
    )


def most_urgent_first(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of ``recommendations`` in the order of ``scaling.advice.model.by_urgency``."""
    severity = pl.col("severity").cast(pl.Enum([one.value for one in AdviceSeverity]))
    return rows.sort(severity, -pl.col("saving"), "cluster", "subject", maintain_order=True)
