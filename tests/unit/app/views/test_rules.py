"""Rules in words."""

from __future__ import annotations

import pytest

from alerting.rules.defaults import DEFAULT_ALERT_RULES
from app.views.rules.view_model import condition, parted_by_kind, when_alerts_fire


def test_for_is_said_to_be_the_earliest() -> None:
    said, more = when_alerts_fire(30.0)
    assert said.startswith("Evaluated about every 30 s: an alert fires once its rule was true")
    assert more.startswith("Never earlier")


def test_that_a_group_falls_behind_is_true_only_once_it_lasts() -> None:
    (rule,) = (one for one in DEFAULT_ALERT_RULES if one.name == "GroupFallingBehind")
    assert condition(rule).endswith("while the group is falling behind, once that lasts")
    assert "only once it lasts" in when_alerts_fire(30.0)[1]


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        pytest.param("GroupStopped", "which takes 30 s without members or more", id="stopped"),
        pytest.param("GroupStalled", "which takes 45 s without a commit or more", id="stalled"),
    ],
)
def test_what_a_status_waits_before_for_is_said(name: str, takes: str) -> None:
    (rule,) = (one for one in DEFAULT_ALERT_RULES if one.name == name)
    assert condition(rule).endswith(takes)


def test_rules_of_what_was_never_seen_stand_apart() -> None:
    here, others = parted_by_kind(DEFAULT_ALERT_RULES, lambda table: table.name != "queues")
    assert {one.name for one in others} == {
        "QueueBacklog",
        "QueueWithoutConsumers",
        "QueueDeadLettersLost",
    }
    assert [*here, *others] == sorted(DEFAULT_ALERT_RULES, key=lambda one: one in others)
