"""Alerts, notifications and matchers as JSON, for the alert store and for webhooks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from alerting.notify.notifications import Notification, Notified
from alerting.rules.lifecycle import Alert
from alerting.rules.matchers import Matcher, parse_matcher

T = TypeVar("T")
_ALERT, _NOTIFICATION, _NOTIFIED = (
    TypeAdapter(Alert),
    TypeAdapter(Notification),
    TypeAdapter(Notified),
)
_FACT = TypeAdapter(dict[str, object])
_ALERT_FIELDS = tuple(one.name for one in fields(Alert))
_MATCHERS = TypeAdapter(list[tuple[str, str, str]])


def alert_to_dict(alert: Alert) -> dict[str, Any]:
    """Return an alert as plain values; ``id`` is added."""
    # ``asdict`` copies each value deeply, at each evaluation.
    told, worst = alert.before_mending, alert.worst
    return {
        "id": alert.id,
        **{name: getattr(alert, name) for name in _ALERT_FIELDS},
        "before_mending": None if told is None else asdict(told),
        "worst": None if worst is None else asdict(worst),
    }


def alert_from_json(text: str) -> Alert:
    """Read an alert that ``alert_to_dict`` gave.

    Raises:
        ValueError: It is none.
    """
    alert = _read(_ALERT, text)
    if "cluster" not in alert.labels:
        raise ValueError("labels: cluster is missing")
    return alert


def notification_to_json(notification: Notification) -> str:
    """Write a notification."""
    return json.dumps(_NOTIFICATION.dump_python(notification, mode="json"))


def notification_from_json(text: str) -> Notification:
    """Read what ``notification_to_json`` wrote.

    Raises:
        ValueError: It is something else.
    """
    return _read(_NOTIFICATION, text)


def notified_to_json(notified: Notified) -> str:
    """Write what was notified of a group of alerts."""
    return json.dumps(_NOTIFIED.dump_python(notified, mode="json"))


def notified_from_json(text: str) -> Notified:
    """Read what ``notified_to_json`` wrote.

    Raises:
        ValueError: It is something else.
    """
    return _read(_NOTIFIED, text)


def fact_from_json(text: str) -> dict[str, object]:
    """Read a JSON object.

    Raises:
        ValueError: It is something else.
    """
    return _read(_FACT, text)


def matchers_to_json(matchers: Sequence[Matcher]) -> str:
    """Write matchers as lists of label, operator and value."""
    return json.dumps([[one.label, one.operator, one.value] for one in matchers])


def matchers_from_json(text: str) -> tuple[Matcher, ...]:
    """Read what ``matchers_to_json`` wrote.

    Raises:
        ValueError: It is something else, or a matcher that cannot be used.
    """
    found = tuple(
        Matcher(label=label, operator=operator, value=value)
        for label, operator, value in _read(_MATCHERS, text)
    )
    if not found:
        raise ValueError("it has no matcher")
    for one in found:
        if parse_matcher(str(one)) != one:
            raise ValueError(f"{one}: is no matcher")
    return found


def _read(adapter: TypeAdapter[T], text: str) -> T:
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        where = "".join(f"{part}: " for part in problem["loc"])
        raise ValueError(f"{where}{problem['msg']}") from None
