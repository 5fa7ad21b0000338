"""Recommendations as rows of gold ``recommendations``, and back.

``standing`` are the rows that the job's rounds confirmed of late. Advice that is unchanged keeps
their ``valid_from``, so that merging by the table's key leaves one row for each time advice stood.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

import polars as pl
from pydantic import TypeAdapter

from lake.schemas.tables import RECOMMENDATIONS
from scaling.advice.model import Recommendation

Row = dict[str, Any]

_RECOMMENDATION = TypeAdapter(Recommendation)
_FIELDS = tuple(field.name for field in fields(Recommendation))
_NESTED = ("evidence", "caveats", "artefacts", "keda")
"""The fields that a row holds as JSON."""

GOES_ON_WITHIN = timedelta(hours=1)
"""Advice that was missing in rounds for less than this goes on when it comes back."""

_ABOUT = ("cluster", "subject_kind", "subject", "kind", "quantity")


def recommendation_rows(
    advice: Iterable[Recommendation], *, at: datetime, standing: Sequence[Mapping[str, Any]] = ()
) -> list[Row]:
    """Return rows of gold ``recommendations``.

    Args:
        advice: The advice that is given now.
        at: The present, UTC.
        standing: Rows that rounds confirmed of late, see ``GOES_ON_WITHIN``. Where cluster,
            subject, kind, quantity, number, current and proposed are those of one of them,
            ``valid_from`` of the newest such is kept.
    """
    by_age = sorted(standing, key=lambda row: row["confirmed_at"])
    since = {_same(row): row["valid_from"] for row in by_age}
    rows: list[Row] = []
    # Two of a kind about one subject, say hot partitions of two topics, have a row each.
    of_kind: Counter[tuple[str, ...]] = Counter()
    for one in advice:
        row = _row(one)
        about = tuple(row[name] for name in _ABOUT)
        row["number"] = of_kind[about]
        of_kind[about] += 1
        row["valid_from"] = since.get(_same(row), at)
        row["confirmed_at"] = at
        row["date"] = row["valid_from"].date()
        rows.append(row)
    return rows


def _same(row: Mapping[str, Any]) -> tuple[Any, ...]:
    about = tuple(row[name] for name in _ABOUT)
    return (*about, row.get("number") or 0, row["current"], row["proposed"])


def recommendation_frame(rows: Sequence[Row]) -> pl.DataFrame:
    """Return rows as a frame of the table's columns."""
    return pl.DataFrame(list(rows), schema=dict(RECOMMENDATIONS.polars_schema))


def from_row(row: Mapping[str, Any]) -> Recommendation:
    """Return the recommendation that a row was made of."""
    nested = {name: json.loads(row[name]) for name in _NESTED if row[name]}
    return _RECOMMENDATION.validate_python({name: row[name] for name in _FIELDS} | nested)


def _row(one: Recommendation) -> Row:
    row: Row = _RECOMMENDATION.dump_python(one, mode="json")
    nested = {name: json.dumps(row[name]) for name in _NESTED if row[name] is not None}
    return {**row, **nested, "saving": one.saving}
