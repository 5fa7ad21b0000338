"""Recommendations as rows of gold ``recommendations``, and back.

``standing`` are the rows that the job's last round confirmed. Advice that is unchanged keeps their
``valid_from``, so that merging by the table's key leaves one row for each time advice stood.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

import polars as pl

from lake.schemas.tables import RECOMMENDATIONS
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Artefact,
    Caveat,
    CaveatLevel,
    Confidence,
    Evidence,
    KedaAnswer,
    Recommendation,
    Subject,
)

Row = dict[str, Any]

_ABOUT = ("cluster", "subject_kind", "subject", "kind", "quantity")


def recommendation_rows(
    advice: Iterable[Recommendation], *, at: datetime, standing: Sequence[Mapping[str, Any]] = ()
) -> list[Row]:
    """Return rows of gold ``recommendations``.

    Args:
        advice: The advice that is given now.
        at: The present, UTC.
        standing: Rows that the round before confirmed. Where cluster, subject, kind, quantity,
            number, current and proposed are unchanged, ``valid_from`` is kept.
    """
    since = {_same(row): row["valid_from"] for row in standing}
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
    keda = row["keda"]
    return Recommendation(
        kind=AdviceKind(row["kind"]),
        cluster=row["cluster"],
        subject=row["subject"],
        severity=AdviceSeverity(row["severity"]),
        confidence=Confidence(row["confidence"]),
        reason=row["reason"],
        quantity=row["quantity"],
        current=row["current"],
        proposed=row["proposed"],
        unknown_reason=row["unknown_reason"],
        evidence=tuple(Evidence(**one) for one in json.loads(row["evidence"])),
        caveats=tuple(
            Caveat(CaveatLevel(one["level"]), one["text"]) for one in json.loads(row["caveats"])
        ),
        artefacts=tuple(Artefact(**one) for one in json.loads(row["artefacts"])),
        subject_kind=Subject(row["subject_kind"]),
        limiting_factor=row["limiting_factor"],
        consequence=row["consequence"],
        keda=KedaAnswer(**json.loads(keda)) if keda else None,
    )


def _row(one: Recommendation) -> Row:
    return {
        "cluster": one.cluster,
        "subject_kind": one.subject_kind.value,
        "subject": one.subject,
        "kind": one.kind.value,
        "quantity": one.quantity,
        "current": one.current,
        "proposed": one.proposed,
        "unknown_reason": one.unknown_reason,
        "limiting_factor": one.limiting_factor,
        "severity": one.severity.value,
        "confidence": one.confidence.value,
        "saving": one.saving,
        "reason": one.reason,
        "consequence": one.consequence,
        "caveats": json.dumps([_fields(caveat) for caveat in one.caveats]),
        "evidence": json.dumps([_fields(figure) for figure in one.evidence]),
        "artefacts": json.dumps([_fields(artefact) for artefact in one.artefacts]),
        "keda": json.dumps(_fields(one.keda)) if one.keda else None,
    }


def _fields(one: Caveat | Evidence | Artefact | KedaAnswer) -> dict[str, Any]:
    """Return a flat dataclass's values by name: ``asdict``, which also copies, takes far longer."""
    return {field.name: getattr(one, field.name) for field in fields(one)}
