"""Which alerts a silence would cover, said while it is written."""

from __future__ import annotations

import pytest

from alerting.rules.lifecycle import Alert
from app.ui.alert_forms import matchers_of, number_firing, silenced_by
from tests.alert_of import alert


def of_group(rule: str, group: str, check: str = "") -> Alert:
    labels = {"cluster": "c", "group": group}
    said = {"check": check or rule, "labels": labels, "what": f"{group} stopped"}
    return alert(fingerprint=f"{rule}-{group}", rule=rule, **said)


FIRING = [
    of_group("GroupStopped", "pay-a"),
    of_group("GroupStopped", "pay-b"),
    of_group("Lag", "pay-a"),
]

THREE = ["pay-a stopped", "pay-b stopped", "pay-a stopped"]


@pytest.mark.parametrize(
    ("matchers", "said", "names"),
    [
        pytest.param([], "Without a matcher nothing is silenced.", [], id="none"),
        pytest.param(["group=~pay-.*"], "Silences 3 of 3 alerts that fire now", THREE, id="all"),
        pytest.param(
            ["rule=GroupStopped", "group=pay-b"],
            "Silences 1 of 3 alerts that fire now",
            ["pay-b stopped"],
            id="all must match",
        ),
        pytest.param(["group=other"], "Silences 0 of 3 alerts that fire now", [], id="nothing"),
        pytest.param(["group"], "a matcher reads label=value", [], id="no matcher"),
        pytest.param(
            matchers_of(FIRING[2]), "Silences 1 of 3", ["pay-a stopped"], id="those of one alert"
        ),
    ],
)
def test_matchers_say_what_they_would_silence(
    matchers: list[str], said: str, names: list[str]
) -> None:
    sentence, found = silenced_by(matchers, FIRING)
    assert said in sentence
    assert found == names


def test_what_two_rules_say_of_one_thing_counts_once_as_on_alerts() -> None:
    given = [*FIRING[:2], of_group("Another", "pay-a", check="GroupStopped")]
    assert number_firing(given) == "2 alerts that fire"
    said = silenced_by(["group=pay-a"], given)
    assert said == ("Silences 1 of 2 alerts that fire now", ["pay-a stopped"])


def test_one_alert_fires() -> None:
    said = silenced_by(["group=pay-a"], FIRING[:1])
    assert said == ("Silences 1 of 1 alert that fires now", ["pay-a stopped"])
