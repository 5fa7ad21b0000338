"""Which alerts a silence would cover, said while it is written."""

from __future__ import annotations

import pytest

from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import AlertSeverity
from app.ui.alert_forms import matchers_of, silenced_by


def alert(rule: str, group: str) -> Alert:
    return Alert(
        fingerprint=f"{rule}-{group}",
        rule=rule,
        check="x",
        severity=AlertSeverity.CRITICAL,
        labels={"cluster": "c", "group": group},
        state=State.FIRING,
        started_at=500.0,
        last_true_at=880.0,
        what=f"{group} stopped",
    )


FIRING = [alert("GroupStopped", "pay-a"), alert("GroupStopped", "pay-b"), alert("Lag", "pay-a")]


@pytest.mark.parametrize(
    ("matchers", "said"),
    [
        pytest.param([], "Without a matcher nothing", id="none"),
        pytest.param(["group=~pay-.*"], "Silences 3 of 3 alerts that fire now: pay-a", id="all"),
        pytest.param(
            ["rule=GroupStopped", "group=pay-b"],
            "Silences 1 of 3 alerts that fire now: pay-b stopped.",
            id="all must match",
        ),
        pytest.param(["group=other"], "Silences 0 of 3 alerts that fire now.", id="nothing"),
        pytest.param(["group"], "a matcher reads label=value", id="no matcher"),
        pytest.param(matchers_of(FIRING[2]), "Silences 1 of 3", id="those of one alert"),
    ],
)
def test_matchers_say_what_they_would_silence(matchers: list[str], said: str) -> None:
    assert said in silenced_by(matchers, FIRING)


def test_one_alert_fires() -> None:
    said = silenced_by(["group=pay-a"], FIRING[:1])
    assert said == "Silences 1 of 1 alert that fires now: pay-a stopped."
