"""The text of a notification: what, where, since when, how bad, cause, next step, link. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from alerting.notify.json_codec import alert_to_dict
from alerting.notify.notifications import Notification, NotificationKind
from alerting.rules.lifecycle import Alert, State
from alerting.status.phrases import duration, or_before, plural, time_left

MOST_SHOWN = 20
"""Most alerts that one message spells out."""

_PAGES = {"overview": "", "dead_letters": "dead-letters"}
_PARAMETERS = ("group", "topic", "name", "section")
_RANGES = (("1h", 3600.0), ("6h", 6 * 3600.0), ("24h", 86400.0), ("7d", 7 * 86400.0))


def link(alert: Alert, dashboard_url: str, now: float) -> str:
    """Return the page that shows an alert, with a time range that covers it."""
    lasted = (now - alert.began_at) * 1.1
    chosen = next((key for key, seconds in _RANGES if lasted <= seconds), "90d")
    parameters = {"cluster": alert.labels.get("cluster", ""), "range": chosen}
    parameters |= {name: alert.labels[name] for name in _PARAMETERS if name in alert.labels}
    page = _PAGES.get(alert.page, alert.page)
    return f"{dashboard_url.rstrip('/')}/{page}?{urlencode(parameters)}"


def title(notification: Notification) -> str:
    """Return a message's first line: how bad, what, where."""
    cluster = notification.group.partition("/")[0]
    alerts = notification.firing or notification.resolved
    what = _one_line(alerts[0].what)
    number = len(alerts)
    more = f" and {number - 1} more" if number > 1 else ""
    if notification.kind is NotificationKind.TEST:
        return f"[TEST] {what} ({cluster})"
    if not notification.firing:
        return f"[RESOLVED] {what}{more} ({cluster})"
    word = "STILL " if notification.kind is NotificationKind.REPEAT else ""
    return f"[{word}{notification.severity.value.upper()}] {what}{more} ({cluster})"


def body(notification: Notification, dashboard_url: str) -> str:
    """Return a message's text."""
    parts = [
        _alert(alert, dashboard_url, notification.at, notification.notes.get(alert.id, ()))
        for alert in notification.firing[:MOST_SHOWN]
    ]
    if len(notification.firing) > MOST_SHOWN:
        parts.append(
            f"… and {plural(len(notification.firing) - MOST_SHOWN, 'more alert')} of this kind."
        )
    if notification.resolved:
        lines = [
            f"- {_one_line(alert.what)}: "
            f"lasted {duration((alert.resolved_at or notification.at) - alert.began_at)}"
            for alert in notification.resolved[:MOST_SHOWN]
        ]
        parts.append("\n".join(["Resolved:", *lines]))
    if notification.inhibited:
        lines = [
            f"- {_one_line(alert.what)}: {_one_line(alert.detail)}"
            for alert in notification.inhibited[:MOST_SHOWN]
        ]
        if len(notification.inhibited) > MOST_SHOWN:
            lines.append(f"- … and {len(notification.inhibited) - MOST_SHOWN} more")
        parts.append("\n".join(["Follows from this, and is not notified on its own:", *lines]))
    return "\n\n".join(parts)


def _alert(alert: Alert, dashboard_url: str, now: float, notes: Sequence[str]) -> str:
    where = ", ".join(f"{key} {value}" for key, value in alert.labels.items())
    began = or_before(moment(alert.first_began_at), at_least=alert.first_began_before)
    again = f", again since {moment(alert.began_at)}" if alert.has_come_back else ""
    lines = [
        f"What: {alert.what}",
        f"Where: {where}",
        f"Since: {began} ({duration(now - alert.first_began_at)} ago){again}",
        f"How bad: {alert.severity.value}. {alert.detail}".rstrip(),
    ]
    if alert.deadline is not None:
        left = alert.deadline - now  # nothing new may be known of it since
        when = "has passed" if left < 0 else time_left(left)
        lines.append(f"Deadline: {when}, about {moment(alert.deadline)}")
    lines += notes
    if alert.no_data_since is not None:
        lines.append(f"No data since: {moment(alert.no_data_since)}; it may be over")
    if alert.cause:
        lines.append(f"Likely cause: {alert.cause}")
    if alert.step:
        lines.append(f"Next step: {alert.step}")
    if alert.runbook:
        lines.append(f"Runbook: {alert.runbook}")
    lines.append(f"See: {link(alert, dashboard_url, now)}")
    return "\n".join(map(_one_line, lines))


def _one_line(text: str) -> str:
    """Return text whose names, whatever they are, begin no line of their own."""
    return " ".join(text.split())


def moment(at: float) -> str:
    """Write a moment: ``2026-01-05 10:00:00 UTC``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def webhook_payload(notification: Notification, dashboard_url: str) -> dict[str, Any]:
    """Return what a webhook is sent; docs/alerts.md describes the fields."""

    def full(alert: Alert) -> dict[str, Any]:
        return {
            **alert_to_dict(alert),
            "link": link(alert, dashboard_url, notification.at),
            "notes": list(notification.notes.get(alert.id, ())),
        }

    return {
        "version": 1,
        "key": notification.key,
        "thread": notification.thread,
        "kind": notification.kind.value,
        "group": notification.group,
        "severity": notification.severity.value,
        "at": notification.at,
        "title": title(notification),
        "text": body(notification, dashboard_url),
        "firing": [full(alert) for alert in notification.firing],
        "resolved": [full(alert) for alert in notification.resolved],
        "inhibited": [full(alert) for alert in notification.inhibited],
    }


def alertmanager_alerts(
    alerts: Sequence[Alert],
    notes: Mapping[str, Sequence[str]],
    dashboard_url: str,
    now: float,
    lasts_seconds: float,
) -> list[dict[str, Any]]:
    """Return alerts as Alertmanager's API v2 takes them.

    Args:
        alerts: What fires and what is resolved.
        notes: Further lines of an alert, by its id.
        dashboard_url: Where links lead.
        now: In Unix seconds.
        lasts_seconds: So long it may take one that fires to go on.
    """
    found = []
    for alert in alerts:
        resolved = alert.state is State.RESOLVED
        end = alert.resolved_at if resolved and alert.resolved_at else now + lasts_seconds
        found.append(
            {
                "labels": labels(alert),
                "annotations": {
                    key: value
                    for key, value in (
                        ("summary", alert.what),
                        ("description", alert.detail),
                        ("deadline", "" if alert.deadline is None else moment(alert.deadline)),
                        ("cause", alert.cause),
                        ("next_step", alert.step),
                        ("notes", "\n".join(map(_one_line, notes.get(alert.id, ())))),
                        ("runbook_url", alert.runbook),
                    )
                    if value
                },
                "startsAt": _rfc3339(alert.began_at),
                "endsAt": _rfc3339(end),
                "generatorURL": link(alert, dashboard_url, now),
            }
        )
    return found


def labels(alert: Alert) -> Mapping[str, str]:
    """Return an alert's labels as Prometheus would write them."""
    return {
        "alertname": alert.rule,
        "severity": alert.severity.value,
        **{key: value for key, value in alert.extra_labels.items() if value},
        **{key: value for key, value in alert.labels.items() if value},
        "monitor": "headroom",
    }


def _rfc3339(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
