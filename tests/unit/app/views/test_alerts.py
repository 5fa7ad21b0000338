"""The sentences of the page Alerts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alerting.rules.lifecycle import State
from app.data.context import View
from app.data.time_range import RANGES, between
from app.ui.incidents import Incident
from app.views.alerts.view_model import all_the_time, counts, fired, history_link, states
from tests.alert_of import alert

FIRES, PENDING = alert(), alert(state=State.PENDING)


@pytest.mark.parametrize(
    ("firing", "pending", "said"),
    [
        pytest.param(3, 2, "3 alerts firing, 2 alerts pending", id="both"),
        pytest.param(1, 0, "1 alert firing", id="none pending"),
        pytest.param(0, 1, "no alert firing, 1 alert pending", id="none fires"),
        pytest.param(0, 0, "no alert firing", id="nothing"),
    ],
)
def test_what_fires_and_what_is_pending_have_a_number_each(
    firing: int, pending: int, said: str
) -> None:
    assert states([FIRES] * firing + [PENDING] * pending) == said


def test_alerts_are_counted_with_their_causes() -> None:
    assert counts([FIRES] * 57, 9, 0, "24 rules every 15 s") == (
        "57 alerts firing under 9 causes; 24 rules every 15 s."
    )
    assert counts([FIRES, PENDING], 1, 1, "") == (
        "1 alert firing, 1 alert pending under 1 cause; 1 alert silenced."
    )
    assert counts([], 0, 0, "") == "No alert firing."


def test_the_history_says_how_many_fired_and_how_many_still_do(view: View) -> None:
    over = replace(FIRES, state=State.RESOLVED)
    day = replace(view, range=RANGES["24h"])
    assert fired([over, over], day) == "2 alerts that fired in the last 24 hours"
    assert fired([over, FIRES], day) == (
        "2 alerts that fired in the last 24 hours, 1 of them firing now"
    )


def test_a_link_leads_down_to_the_history(view: View) -> None:
    past = [Incident(cause=alert())] * 4
    day = replace(view, range=RANGES["24h"])
    assert history_link(past, day) == "[History: 4 causes in the last 24 hours ↓](#history)"
    chosen = replace(view, range=between(view.start, view.now, view.now, None))
    assert history_link(past[:1], chosen) == "[History: 1 cause in the chosen time ↓](#history)"
    assert not history_link([], day)
    assert not history_link(past, replace(day, is_phone=True)), "it is folded there"


def test_bars_that_fill_the_whole_time_are_named_in_a_line() -> None:
    said = all_the_time(7, "18:00")
    assert said == "7 causes go on since about 18:00 or before"
    assert all_the_time(1, "18:00").startswith("1 cause goes on since")
