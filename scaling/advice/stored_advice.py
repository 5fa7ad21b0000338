"""The advice that stands: what the job's newest round wrote down."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from config.storage import ADVICE_KEPT
from lake.schemas.tables import RECOMMENDATIONS
from lake.storage.store import Lake
from scaling.advice.model import AdviceKind, AdviceSeverity

ADVISE_EVERY = timedelta(minutes=10)
"""As long as the samples that advice is based on: none of them is passed over."""

_ROUND = 1.5 * ADVISE_EVERY
"""The job advises later when it is busy."""

STANDS_FOR = timedelta(minutes=30)
"""What was confirmed longer ago says nothing about now."""

IS_CHANGE = ~pl.col("kind").is_in([AdviceKind.KEEP.value, AdviceKind.UNKNOWN.value]) & (
    pl.col("severity") != AdviceSeverity.UNKNOWN
)
"""Whether following the advice of a row of ``recommendations`` changes something."""

_FIRST_GIVEN = ADVICE_KEPT + timedelta(days=1)
"""A row lies under the day on which its advice was first given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The advice on a cluster."""

    rows: pl.DataFrame  # rows of ``recommendations``, the most urgent first
    as_of: datetime | None  # when it was given; None: never
    withdrawn: pl.DataFrame  # what the round before gave and this one does not; the same columns

    def is_current(self, now: datetime) -> bool:
        """Return whether it says anything about the present."""
        return self.as_of is not None and now - self.as_of <= STANDS_FOR


def standing(lake: Lake, cluster: str, now: datetime) -> Standing:
    """Read the advice of the newest round on a cluster."""
    rows = lake.read(RECOMMENDATIONS, since=now - _FIRST_GIVEN, cluster=cluster)
    as_of = rows["confirmed_at"].max()
    newest = rows.filter(pl.col("confirmed_at") == pl.col("confirmed_at").max())
    return Standing(
        rows=most_urgent_first(newest),
        as_of=as_of if isinstance(as_of, datetime) else None,
        withdrawn=most_urgent_first(_withdrawn(rows, newest)),
    )


def _withdrawn(rows: pl.DataFrame, newest: pl.DataFrame) -> pl.DataFrame:
    """Return the changes that only the round before gave.

    One round is little evidence: a table of changes keeps them so long, or it would flip.
    What was followed is over, and what is advised with other numbers now goes by these.
    """
    before = rows.filter(
        pl.col("confirmed_at") < pl.col("confirmed_at").max(),
        pl.col("confirmed_at") >= pl.col("confirmed_at").max() - _ROUND,
        IS_CHANGE,
    )
    before = before.filter(pl.col("confirmed_at") == pl.col("confirmed_at").max())
    about = ("subject_kind", "subject", "quantity")
    followed = newest.filter(pl.col("current").is_not_null())
    return before.join(newest, on=[*about, "kind"], how="anti").join(
        followed,
        left_on=[*about, "proposed"],
        right_on=[*about, "current"],
        how="anti",
    )


def most_urgent_first(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of ``recommendations`` in the order of ``scaling.advice.model.by_urgency``."""
    severity = pl.col("severity").cast(pl.Enum([one.value for one in AdviceSeverity]))
    return rows.sort(severity, -pl.col("saving"), "cluster", "subject", maintain_order=True)
