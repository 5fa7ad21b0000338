"""Rules in words."""

from __future__ import annotations

from app.views.rules.view_model import when_alerts_fire


def test_for_is_said_to_be_the_earliest() -> None:
    said = when_alerts_fire(30.0)
    assert said.startswith("Rules are evaluated about every 30 s.")
    assert "never earlier" in said
