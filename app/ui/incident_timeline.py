"""Incidents as bars of a timeline: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import polars as pl

from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import SEVERITIES
from app.style.charts.timelines import MENDING
from app.ui.alert_list import moment
from app.ui.incidents import Incident, last_end, mended_at, never_fired, turned_at
from app.ui.symptoms import numbered, symptoms_of


def timeline_rows(found: Iterable[Incident], now: datetime) -> pl.DataFrame:
    """Return incidents as bars of a timeline: causes, each with a line for all that fired of it.

    Until an alert fired, its bar is that of what is pending. Where what was mended leaves damage,
    such as a backlog, it is that of what mends from the turn on, until the alert is over.
    """
    rows = []
    for one in found:
        cause = one.cause
        for each in (*one.earlier, cause):
            rows += _bars(cause.what, [each], mended_at(each), now)
        if fired := [each for each in symptoms_of(one) if not never_fired(each)]:
            label = f"  ↳ {numbered(one)} of {cause.what}"
            rows += _bars(label, fired, last_end(fired), now)
    time = pl.Datetime("us", "UTC")
    return pl.DataFrame(
        rows, schema={"what": pl.String(), "severity": pl.String(), "from": time, "to": time}
    )


def _bars(
    what: str, alerts: Sequence[Alert], ended: float | None, now: datetime
) -> list[dict[str, object]]:
    """Return the bars of alerts on one line: pending, firing as the worst, mending."""
    began, pending = min(one.began_at for one in alerts), State.PENDING.value
    fired = [one for one in alerts if not never_fired(one)]
    if not fired:
        return [_bar(what, pending, began, ended, now)]
    turn, over = turned_at(fired), last_end(fired)
    mends = []
    if turn is not None:
        ended = turn
        if over is None or over > turn:
            mends = [_bar(what, MENDING, turn, over, now)]
    severity = min((one.severity for one in fired), key=SEVERITIES.index).value
    at = min(one.began_at if one.fired_at is None else one.fired_at for one in fired)
    if at <= began or (ended is not None and ended <= at):
        return [_bar(what, severity, began, ended, now), *mends]
    return [_bar(what, pending, began, at, now), _bar(what, severity, at, ended, now), *mends]


def _bar(
    what: str, severity: str, began: float, ended: float | None, now: datetime
) -> dict[str, object]:
    return {
        "what": what,
        "severity": severity,
        "from": moment(began),
        "to": moment(ended) or now,
    }
