"""Incidents of a time: each whole, from an alert store that is asked for each time once."""

from __future__ import annotations

from itertools import pairwise

import polars as pl
import pytest

from alerting.checks.model import Observation
from alerting.current.rows import alert_rows
from alerting.inputs.frames import Frames
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.inhibition import advance_with_causes
from alerting.rules.lifecycle import FLAP_SECONDS, Alert, Alerts
from alerting.rules.model import evaluate
from app.ui.incident_rows import of_rows
from app.ui.incidents import between, incidents
from lake.schemas.current import GROUP_STATUS, READERS
from tests.unit.app.ui.test_incidents import alert


def test_an_incident_is_whole_whatever_time_it_is_looked_at_from() -> None:
    """Given a time within an incident, then its symptoms of before and after are its own, too."""
    broker = alert("broker", 1000.0, 2000.0)
    alerts = [
        broker,
        *(
            alert(name, began, ended, inhibited_by="broker")
            for name, began, ended in (
                *(("before", 1010.0, 1100.0), ("within", 1400.0, 1600.0)),
                *(("after", 1900.0, 1950.0), ("outlives", 1990.0, 2300.0)),
            )
        ),
        alert("other", 400.0, 1005.0),
        alert("later", 2200.0, 2400.0),
    ]

    asked: list[tuple[float, float]] = []

    def alerts_of(since: float, until: float) -> list[Alert]:
        asked.append((since, until))
        ends = [(one, one.resolved_at or 0.0) for one in alerts]
        return [one for one, ended in ends if one.started_at <= until and ended >= since]

    for since, until in ((1300.0, 1500.0), (900.0, 1050.0), (2250.0, 2260.0), (0.0, 9000.0)):
        (found,) = (one for one in between(alerts_of, since, until) if one.cause is broker)
        assert [one.what for one in found.symptoms] == ["before", "within", "after", "outlives"]
    asked.clear()
    assert [one.cause.what for one in between(alerts_of, 1300.0, 1500.0)] == ["broker"]
    times = sorted(asked)
    assert (times[0][0], times[-1][1]) == (1000.0, 2300.0 + FLAP_SECONDS), "it may come back"
    for (_, end), (begin, _) in pairwise(times):
        assert end == begin, "no time is asked for twice, and none is left out"
    assert between(alerts_of, 5000.0, 6000.0) == []


@pytest.mark.parametrize("minutes", [5, 90])
def test_an_incident_has_the_same_symptoms_while_it_goes_on_and_afterwards(minutes: int) -> None:
    """Given a group that a missing broker slowed, and that is slow for longer than that."""

    def seen(check: str, since: float, **labels: str) -> Observation:
        return Observation(
            check=check, labels={"cluster": "c", **labels}, value=5.0, since=since, what=check
        )

    alerts: Alerts = {}
    stored: dict[str, Alert] = {}
    told: list[tuple[str, tuple[str, ...]]] = []
    for now in range(1000, 1600 + minutes * 60, 15):
        found = [seen("broker_missing", 1000.0, broker="2")] if now < 1120 else []
        if 1030 <= now < 1300 + minutes * 60:
            found.append(seen("stalled", 1030.0, group="payment-settlement"))
        evaluation = evaluate(DEFAULT_ALERT_RULES, found)
        alerts = advance_with_causes(alerts, evaluation, float(now))
        stored |= {one.id: one for one in alerts.values()}
        frames = Frames(cluster="c", now=float(now), tables={})
        rows = alert_rows(alerts.values(), GROUP_STATUS.empty, READERS.empty, frames)
        rows = rows.with_columns(pl.lit("c").alias("cluster"))
        of_store = incidents(stored.values())
        if not all(one.ended_at is not None for one in of_store):
            assert [one.cause.id for one in of_rows(rows)] == [one.cause.id for one in of_store]
        told += [(one.cause.check, tuple(each.check for each in one.symptoms)) for one in of_store]
    assert set(told) == {("broker_missing", ()), ("broker_missing", ("stalled",))}
    assert told[-1] == ("broker_missing", ("stalled",))
    assert all(one.resolved_at is not None for one in stored.values())
