"""Alerts and notices as JSON, for the alert store and for webhooks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from alerting.lifecycle import Alert, State
from alerting.notices import Kind, Notice, Told
from alerting.rules import Severity


def alert_to_dict(alert: Alert) -> dict[str, Any]:
    """Return an alert as plain values; ``id`` is added."""
    return {"id": alert.id, **asdict(alert)}


def alert_from_dict(found: Mapping[str, Any]) -> Alert:
    """Return the alert of ``alert_to_dict``."""
    values = {key: value for key, value in found.items() if key != "id"}
    return Alert(
        **{
            **values,
            "severity": Severity(values["severity"]),
            "state": State(values["state"]),
        }
    )


def notice_to_json(notice: Notice) -> str:
    """Write a notice."""
    return json.dumps(
        {
            "key": notice.key,
            "group": notice.group,
            "kind": notice.kind.value,
            "at": notice.at,
            "severity": notice.severity.value,
            "firing": [alert_to_dict(alert) for alert in notice.firing],
            "resolved": [alert_to_dict(alert) for alert in notice.resolved],
            "held_back": [alert_to_dict(alert) for alert in notice.held_back],
        }
    )


def notice_from_json(text: str) -> Notice:
    """Read what ``notice_to_json`` wrote."""
    found = json.loads(text)
    firing, resolved, held = (
        tuple(alert_from_dict(one) for one in found[name])
        for name in ("firing", "resolved", "held_back")
    )
    return Notice(
        found["key"],
        found["group"],
        Kind(found["kind"]),
        found["at"],
        Severity(found["severity"]),
        firing,
        resolved,
        held,
    )


def told_to_json(told: Told) -> str:
    """Write what was told of a group of alerts."""
    return json.dumps({"at": told.at, "number": told.number, "firing": dict(told.firing)})


def told_from_json(text: str) -> Told:
    """Read what ``told_to_json`` wrote."""
    found = json.loads(text)
    firing = {id_: Severity(severity) for id_, severity in found["firing"].items()}
    return Told(found["at"], found["number"], firing)
