"""Incidents from rows of ``open_alerts``, and what these know beside alerts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import polars as pl

from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import AlertSeverity
from app.ui.incidents import Incident, grouped, losing


def of_rows(rows: pl.DataFrame) -> list[Incident]:
    """Return the incidents of rows of ``open_alerts``, which are folded already."""
    return with_rows(grouped([alert_of(row) for row in rows.iter_rows(named=True)]), rows)


def with_rows(found: Iterable[Incident], rows: pl.DataFrame) -> list[Incident]:
    """Return incidents with what rows of ``open_alerts`` know beside alerts.

    That are the deadlines of the groups and topics that alerts are about, which of them recover
    since their group catches up, and when data was last lost.
    """
    known, losses = {}, {}
    for row in rows.iter_rows(named=True):
        alert = alert_of(row)
        known[alert.id] = alert
        losses[alert.id] = row["loses_now"], row["last_lost_at"]

    def dated(alert: Alert) -> Alert:
        row = known.get(alert.id)
        if row is None:
            return alert
        since = alert.recovering_since
        if alert.last_true_at <= row.last_true_at:
            since = since or row.recovering_since
        return replace(alert, deadline=row.deadline, recovering_since=since)

    return [
        _with_losses(
            replace(one, cause=dated(one.cause), symptoms=tuple(map(dated, one.symptoms))), losses
        )
        for one in found
    ]


def _with_losses(
    one: Incident, losses: Mapping[str, tuple[bool | None, datetime | None]]
) -> Incident:
    """Return an incident with when data of it was last lost, from that of alerts by their ids."""
    known = [losses[each.id] for each in losing(one) if each.id in losses]
    if not known:
        return one
    times = [at.timestamp() for _, at in known if at is not None]
    return replace(
        one,
        loses_now=any(is_now is not False for is_now, _ in known),
        last_lost_at=max(times, default=None),
    )


def alert_of(row: Mapping[str, Any]) -> Alert:
    """Return the alert of a row of ``open_alerts``."""
    known: dict[str, Any] = {
        name: value.timestamp() if isinstance(value, datetime) else value
        for name, value in row.items()
    }
    same = (
        *("fingerprint", "rule", "check", "value", "status", "what", "detail", "cause", "step"),
        *("page", "since", "started_at", "fired_at", "last_true_at", "recovering_since"),
        "inhibited_by",
    )
    return Alert(
        **{name: known[name] for name in same},
        severity=AlertSeverity(row["severity"]),
        state=State(row["state"]),
        labels=labels_of(row) | {"cluster": row["cluster"]},
        began_before=bool(row["since_at_least"]),
        first_at=known["first_since"],
        first_before=bool(row["first_since_at_least"]),
        deadline=known["deadline_at"],
        runbook=row["runbook"] or "",
        flaps=row["flaps"] or 0,
    )


def labels_of(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of a row of ``open_alerts``."""
    return {one["key"]: one["value"] for one in row["labels"] or ()}
