"""Rules in words."""

from __future__ import annotations

from alerting.rules.defaults import DEFAULT_ALERT_RULES
from app.views.rules.view_model import condition, when_alerts_fire


def test_for_is_said_to_be_the_earliest() -> None:
    said = when_alerts_fire(30.0)
    assert said.startswith("Rules are evaluated about every 30 s.")
    assert "never earlier" in said


def test_that_a_group_falls_behind_is_true_only_once_it_lasts() -> None:
    (rule,) = (one for one in DEFAULT_ALERT_RULES if one.name == "GroupFallingBehind")
    assert condition(rule).endswith("while the group is falling behind, once that lasts")
    assert "only once it lasts" in when_alerts_fire(30.0)
