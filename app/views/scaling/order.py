"""The order of what is advised: that of the incidents of its subjects. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

import polars as pl

from alerting.rules.lifecycle import State
from alerting.status.model import Status
from alerting.status.phrases import in_steps
from app.ui.incidents import Incident
from scaling.advice.model import AdviceSeverity, Subject

_URGENCY = {severity.value: at for at, severity in enumerate(AdviceSeverity)}
_LATELY = timedelta(hours=1)
"""What lost data so short a while ago ranks as what loses some now: losses come in waves."""

_LABELS: Mapping[str, Subject] = {
    "group": Subject.GROUP,
    "topic": Subject.TOPIC,
    "connector": Subject.CONNECTOR,
}
"""The labels of alerts that name what advice may be about."""


def places(found: Sequence[Incident]) -> dict[tuple[str, str], int]:
    """Return the place of each subject's first incident, by the kind and the name of the subject.

    Args:
        found: Open incidents, in the order of lists.
    """
    known: dict[tuple[str, str], int] = {}
    for at, one in enumerate(found):
        for alert in (one.cause, *one.symptoms):
            if alert.state is State.RESOLVED:
                continue
            for label, kind in _LABELS.items():
                if label in alert.labels:
                    known.setdefault((kind.value, alert.labels[label]), at)
    return known


def losers(groups: pl.DataFrame, now: datetime) -> set[str]:
    """Return the groups that lose data, or did in the last hour.

    Args:
        groups: Rows of ``group_status``.
        now: The present.
    """
    lately = (pl.col("last_lost_at") > now - _LATELY).fill_null(value=False)
    return set(groups.filter((pl.col("status") == Status.LOSING_DATA) | lately)["group"])


def in_order(
    rows: pl.DataFrame,
    incidents: Mapping[tuple[str, str], int],
    deadlines: Mapping[str, datetime | None],
    now: datetime,
    losing: Collection[str] = (),
) -> pl.DataFrame:
    """Return rows in the order in which lists of incidents have their subjects.

    What is to be done now comes first. Of what is as urgent, that comes last which has no incident,
    and among these first what loses data, then the nearest deadline.

    Args:
        rows: Rows of ``recommendations``, the most urgent first.
        incidents: The places of subjects, see ``places``.
        deadlines: When messages of each group are deleted.
        now: The present.
        losing: The groups that lose data, see ``losers``.
    """

    def key(severity: str, kind: str, subject: str) -> tuple[int, float, bool, float]:
        group = subject if kind == Subject.GROUP else None
        at = deadlines.get(group) if group is not None else None
        return (
            _URGENCY[severity],
            incidents.get((kind, subject), math.inf),
            group not in losing,
            # As it is written: rows do not change places with each poll.
            math.inf if at is None else in_steps(max(0.0, (at - now).total_seconds())),
        )

    order = [key(*row) for row in rows.select("severity", "subject_kind", "subject").iter_rows()]
    return rows[sorted(range(len(order)), key=order.__getitem__)]
