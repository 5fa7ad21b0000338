"""What comes back a short while after it was over is one incident, on each page."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from alerting.rules.lifecycle import Alert, State, Worst
from app.data.context import View
from app.ui.incident_list import items
from app.ui.incident_timeline import timeline_rows
from app.ui.incidents import between, incidents
from app.ui.symptoms import symptoms_in_all
from app.views.incident import steps
from app.views.incident.view_model import incident_of, sentence
from app.views.week.view_model import incident_part
from tests.unit.app.ui.test_incidents import alert

NOW = datetime.fromtimestamp(9000.0, UTC)
START = datetime.fromtimestamp(0.0, UTC)


def letters(began: float, ended: float | None = None, flaps: int = 0, **given: Any) -> Alert:
    labels = {"cluster": "c", "source": "kafka", "name": "orders-dlq"}
    of_all = {"fingerprint": "dlq", "check": "dead_letter_ratio", "labels": labels, "flaps": flaps}
    return alert("Dead letters arrive in orders-dlq", began, ended, **of_all | given)


FIRST = letters(1000.0, 1600.0, worst=Worst(at=1100.0, value=0.5, detail="Half fails."))
SECOND = letters(3000.0, 3300.0, 1, worst=Worst(at=3100.0, value=0.1, detail="A tenth fails."))
LAST = letters(6000.0, None, 2, fired_at=6000.0, last_true_at=9000.0)


def test_each_time_that_it_came_back_is_of_one_incident() -> None:
    (found,) = incidents([LAST, FIRST, SECOND])
    assert (found.cause, found.earlier, found.symptoms) == (LAST, (FIRST, SECOND), ())
    assert (found.began_at, found.ended_at) == (1000.0, None)
    assert symptoms_in_all(found) == ""


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        pytest.param(FIRST, letters(6000.0), id="after more than an hour"),
        pytest.param(replace(FIRST, fired_at=None), SECOND, id="it had not fired"),
        pytest.param(FIRST, letters(3000.0, flaps=1, state=State.PENDING), id="it may never fire"),
        pytest.param(replace(FIRST, fingerprint="other"), SECOND, id="another topic"),
        pytest.param(FIRST, letters(6000.0, flaps=1), id="the time between is forgotten"),
    ],
)
def test_other_times_are_incidents_of_their_own(earlier: Alert, later: Alert) -> None:
    assert [one.cause for one in incidents([earlier, later])] == [later, earlier]


def test_what_followed_each_time_is_a_symptom_of_all(view: View) -> None:
    late = alert("late", 1100.0, 1500.0, inhibited_by="dlq")
    again = alert("again", 6100.0, inhibited_by="dlq")
    (found,) = incidents([FIRST, late, SECOND, LAST, again])
    assert found.symptoms == (late, again)
    assert symptoms_in_all(found) == "2 symptoms in all, 1 of them now"


@pytest.mark.parametrize(("since", "until"), [(900.0, 1700.0), (3100.0, 3200.0), (6100.0, 8000.0)])
def test_it_is_one_whatever_time_it_is_looked_at_from(since: float, until: float) -> None:
    every = (FIRST, SECOND, LAST)

    def alerts_of(since: float, until: float) -> list[Alert]:
        return [
            one for one in every if one.started_at <= until and (one.resolved_at or 9e9) >= since
        ]

    (found,) = between(alerts_of, since, until)
    assert (found.cause, found.earlier) == (LAST, (FIRST, SECOND))
    assert all(incident_of(one, alerts_of, NOW) == found for one in every)


def test_it_reads_as_one_story(view: View) -> None:
    frame = replace(view, now=NOW)
    found = incidents([FIRST, SECOND, LAST])
    (row,) = items(found, frame)
    assert (row.when, row.note) == ("since 01:40", "in c, came back 2 times")
    assert sentence(found[0], NOW, UTC) == (
        "It began at 01:40:00 and has lasted 50 min. It was first there at 00:16:40 and came back "
        "2 times. No symptom."
    )
    over = incidents([FIRST, SECOND])
    (row,) = items(over, frame)
    assert row.note == "in c, came back 1 time, first at 00:16"
    bars = timeline_rows(found, NOW).select("what", "from", "to")
    assert bars["what"].n_unique() == 1
    assert [at.timestamp() for at in bars["from"]] == [1000.0, 3000.0, 6000.0]
    told = steps.of_incident(found[0], (), {})
    at = [(step.at.timestamp(), step.kind) for step in told if step.kind in {"cause", "end"}]
    assert at == [(1000, "cause"), (1600, "end"), (3000, "cause"), (3300, "end"), (6000, "cause")]
    (week,) = incident_part(over, START, NOW).rows.to_dicts()
    assert (week["began"].timestamp(), week["seconds"]) == (1000.0, 900.0)
    assert week["detail"] == "at worst (old messages included): Half fails."
