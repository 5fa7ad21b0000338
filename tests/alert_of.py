"""An alert with all that one must have: tests name what matters to them."""

from __future__ import annotations

from typing import Any

from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import AlertSeverity


def alert(**given: Any) -> Alert:
    """Return an alert of a group that stopped: it fires, unless it was resolved."""
    return Alert(
        **{
            "fingerprint": "f",
            "rule": "GroupStopped",
            "check": "stopped",
            "severity": AlertSeverity.CRITICAL,
            "labels": {"cluster": "c", "group": "g"},
            "state": State.FIRING if given.get("resolved_at") is None else State.RESOLVED,
            "started_at": 1000.0,
            "last_true_at": 2000.0,
            **given,
        }
    )
