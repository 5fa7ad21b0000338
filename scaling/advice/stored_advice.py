"""The advice that stands: the job's newest round, and what changed since."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import polars as pl

from config.storage import ADVICE_KEPT
from lake.schemas.current import CHANGED_ADVICE
from lake.schemas.tables import RECOMMENDATIONS
from lake.storage.store import Lake
from scaling.advice.model import AdviceKind, AdviceSeverity, Subject

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
    """The advice on a cluster.

    Attributes:
        rows: Rows of ``recommendations``, the most urgent first.
        as_of: When the newest round gave it; None: never.
        withdrawn: What the round before gave and this one does not; the same columns.
        changed: Groups that were advised on anew since, as they do something else.
        changed_at: When that was last; None: no group was.
    """

    rows: pl.DataFrame
    as_of: datetime | None
    withdrawn: pl.DataFrame
    changed: frozenset[str] = frozenset()
    changed_at: datetime | None = None

    def is_current(self, now: datetime) -> bool:
        """Return whether it says anything about the present."""
        return self.as_of is not None and now - self.as_of <= STANDS_FOR

    def with_changed(self, changed: pl.DataFrame) -> Standing:
        """Return it with newer advice on some groups in the place of the round's.

        Args:
            changed: Rows of ``changed_advice``; those that are older than the round are over.
        """
        newer = newer_than_round(changed, self.as_of)
        if newer.is_empty():
            return self
        groups = frozenset(newer["subject"])
        at = newer["confirmed_at"].max()
        return replace(
            self,
            rows=most_urgent_first(
                in_place(self.rows, newer.with_columns(date=pl.col("valid_from").dt.date()))
            ),
            withdrawn=self.withdrawn.filter(~_is_of(groups)),
            changed=groups,
            changed_at=at if isinstance(at, datetime) else None,
        )


def newer_than_round(changed: pl.DataFrame, as_of: datetime | None) -> pl.DataFrame:
    """Return the rows of ``changed_advice`` that are newer than a round; None: there was none."""
    return changed.clear() if as_of is None else changed.filter(pl.col("confirmed_at") > as_of)


def in_place(rows: pl.DataFrame, newer: pl.DataFrame) -> pl.DataFrame:
    """Return rows with newer ones on the same groups in their place.

    Args:
        rows: Rows about one cluster, with at least ``subject_kind`` and ``subject``.
        newer: Rows about its groups, with all columns of the others.
    """
    return pl.concat(
        [rows.filter(~_is_of(frozenset(newer["subject"]))), newer.select(rows.columns)]
    )


def _is_of(groups: frozenset[str]) -> pl.Expr:
    return (pl.col("subject_kind") == Subject.GROUP) & pl.col("subject").is_in(list(groups))


def standing(lake: Lake, cluster: str, now: datetime) -> Standing:
    """Read the advice that stands on a cluster.

    Raises:
        LakeError: It cannot be read.
    """
    changed = lake.current.read(CHANGED_ADVICE, cluster)
    given = newest_round(lake, cluster, now)
    return given if changed is None else given.with_changed(changed)


def newest_round(lake: Lake, cluster: str, now: datetime) -> Standing:
    """Read the advice of the newest round on a cluster.

    Raises:
        LakeError: It cannot be read.
    """
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
    What was followed is over, and what is advised with other numbers now goes by these; on a
    group that is given another change now, that one counts.
    """
    before = rows.filter(
        pl.col("confirmed_at") < pl.col("confirmed_at").max(),
        pl.col("confirmed_at") >= pl.col("confirmed_at").max() - _ROUND,
        IS_CHANGE,
    )
    before = before.filter(pl.col("confirmed_at") == pl.col("confirmed_at").max())
    about = ("subject_kind", "subject", "quantity")
    followed = newest.filter(pl.col("current").is_not_null())
    groups = newest.filter(pl.col("subject_kind") == Subject.GROUP, IS_CHANGE)
    return (
        before.join(newest, on=[*about, "kind"], how="anti")
        .join(
            followed,
            left_on=[*about, "proposed"],
            right_on=[*about, "current"],
            how="anti",
        )
        .join(groups, on=["subject_kind", "subject"], how="anti")
    )


def most_urgent_first(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of ``recommendations`` in the order of ``scaling.advice.model.by_urgency``."""
    severity = pl.col("severity").cast(pl.Enum([one.value for one in AdviceSeverity]))
    return rows.sort(severity, -pl.col("saving"), "cluster", "subject", maintain_order=True)
