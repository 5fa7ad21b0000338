"""Incidents of a time: each whole, from an alert store that is asked for each time once."""

from __future__ import annotations

from itertools import pairwise

from alerting.rules.lifecycle import Alert
from app.ui.incidents import between
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
    assert (times[0][0], times[-1][1]) == (1000.0, 2300.0)
    for (_, end), (begin, _) in pairwise(times):
        assert end == begin, "no time is asked for twice, and none is left out"
    assert between(alerts_of, 5000.0, 6000.0) == []
