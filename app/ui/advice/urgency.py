"""Advice that is as urgent as what is known of its subject by now. Pure functions."""

from __future__ import annotations

import polars as pl

from alerting.checks.retention_deadline import DeadlineState
from alerting.rules.lifecycle import State
from alerting.rules.model import AlertSeverity
from alerting.status.descriptions import SCALING_STEP
from app.ui.incident_rows import labels_of
from scaling.advice.model import AdviceKind, AdviceSeverity, Subject
from scaling.advice.stored_advice import most_urgent_first

_ANSWERS = frozenset(
    {
        AdviceKind.ADD_CONSUMERS,
        AdviceKind.PARTITION_BOUND,
        AdviceKind.HOT_PARTITION,
        AdviceKind.DOWNSTREAM,
    }
)
"""Advice that a group which falls behind is given; what else is urgent has alerts of its own."""


def as_alerted(rows: pl.DataFrame, alerts: pl.DataFrame) -> pl.DataFrame:
    """Return advice that is as urgent as the alert that fires and has it as its next step.

    The job advises every ten minutes, and an alert may be newer. And it calls a size urgent before
    the objective is missed, when the alert is to watch. Advice stays urgent while another critical
    alert on the group is open, such as that retention is near.

    Args:
        rows: Rows of ``recommendations``, the most urgent first.
        alerts: Rows of ``open_alerts``.
    """
    is_critical = pl.col("severity") == AlertSeverity.CRITICAL
    fires = (pl.col("state") == State.FIRING) & pl.col("recovering_since").is_null()
    names_advice = alerts.filter(fires, pl.col("step") == SCALING_STEP)
    critical = _groups_of(alerts.filter(is_critical, pl.col("state") != State.RESOLVED))
    urgent = _groups_of(names_advice.filter(is_critical))
    watched = _groups_of(names_advice) - critical
    if not urgent and not watched:
        return rows
    on_group = pl.col("subject_kind") == Subject.GROUP
    is_raised = (
        pl.struct("subject_kind", "subject").is_first_distinct()
        & on_group
        & pl.col("subject").is_in(list(urgent))
        & (pl.col("severity") == AdviceSeverity.WATCH)
    )
    is_lowered = (
        on_group
        & pl.col("subject").is_in(list(watched))
        & pl.col("kind").is_in([one.value for one in _ANSWERS])
        & (pl.col("severity") == AdviceSeverity.ACT_NOW)
    )
    severity = (
        pl.when(is_raised)
        .then(pl.lit(AdviceSeverity.ACT_NOW.value))
        .when(is_lowered)
        .then(pl.lit(AdviceSeverity.WATCH.value))
        .otherwise("severity")
        .alias("severity")
    )
    return most_urgent_first(rows.with_columns(severity))


def with_losses(rows: pl.DataFrame, readers: pl.DataFrame) -> pl.DataFrame:
    """Return advice on topics' retention that is urgent where a reader loses data by now.

    Args:
        rows: Rows of ``recommendations``, the most urgent first.
        readers: Rows of ``readers``.
    """
    losing = readers.filter(pl.col("loss") == DeadlineState.LOST.value)["topic"].unique()
    is_raised = (
        (pl.col("subject_kind") == Subject.TOPIC)
        & (pl.col("kind") == AdviceKind.RETENTION_DEADLINE)
        & pl.col("subject").is_in(losing.to_list())
    )
    urgent = pl.when(is_raised).then(pl.lit(AdviceSeverity.ACT_NOW.value)).otherwise("severity")
    return rows if losing.is_empty() else most_urgent_first(rows.with_columns(severity=urgent))


def _groups_of(alerts: pl.DataFrame) -> set[str]:
    """Return the groups that alerts are about."""
    found = (labels_of(row).get("group") for row in alerts.iter_rows(named=True))
    return {group for group in found if group is not None}
