"""How a notice reads: what, where, since when, how bad, likely cause, next step, link. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from alerting.notify.json_codec import alert_to_dict
from alerting.notify.notifications import Kind, Notice
from alerting.rules.lifecycle import Alert, State
from alerting.status.phrases import duration, plural

_SHOWN = 20
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


def title(notice: Notice) -> str:
    """Return a message's first line: how bad, what, where."""
    cluster = notice.group.partition("/")[0]
    first = (notice.firing or notice.resolved)[0]
    number = len(notice.firing or notice.resolved)
    more = f" and {number - 1} more" if number > 1 else ""
    if notice.kind is Kind.TEST:
        return f"[TEST] {first.what} ({cluster})"
    if not notice.firing:
        return f"[RESOLVED] {first.what}{more} ({cluster})"
    word = "STILL " if notice.kind is Kind.REPEAT else ""
    return f"[{word}{notice.severity.value.upper()}] {first.what}{more} ({cluster})"


def body(notice: Notice, dashboard_url: str) -> str:
    """Return a message's text."""
    parts = [_alert(alert, dashboard_url, notice.at) for alert in notice.firing[:_SHOWN]]
    if len(notice.firing) > _SHOWN:
        parts.append(f"… and {plural(len(notice.firing) - _SHOWN, 'more alert')} of this kind.")
    if notice.resolved:
        lines = [
            f"- {alert.what}: lasted {duration((alert.resolved_at or notice.at) - alert.began_at)}"
            for alert in notice.resolved[:_SHOWN]
        ]
        parts.append("\n".join(["Resolved:", *lines]))
    if notice.held_back:
        lines = [f"- {alert.what}: {alert.detail}" for alert in notice.held_back[:_SHOWN]]
        if len(notice.held_back) > _SHOWN:
            lines.append(f"- … and {len(notice.held_back) - _SHOWN} more")
        parts.append("\n".join(["Follows from this, and is not notified on its own:", *lines]))
    return "\n\n".join(parts)


def _alert(alert: Alert, dashboard_url: str, now: float) -> str:
    where = ", ".join(f"{key} {value}" for key, value in alert.labels.items())
    lines = [
        f"What: {alert.what}",
        f"Where: {where}",
        f"Since: {moment(alert.began_at)} ({duration(now - alert.began_at)} ago)",
        f"How bad: {alert.severity.value}. {alert.detail}".rstrip(),
    ]
    if alert.no_data_since is not None:
        lines.append(f"No data since: {moment(alert.no_data_since)}; it may be over")
    if alert.cause:
        lines.append(f"Likely cause: {alert.cause}")
    if alert.step:
        lines.append(f"Next step: {alert.step}")
    if alert.runbook:
        lines.append(f"Runbook: {alert.runbook}")
    lines.append(f"See: {link(alert, dashboard_url, now)}")
    return "\n".join(lines)


def moment(at: float) -> str:
    """Write a moment: ``2026-01-05 10:00:00 UTC``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def webhook_payload(notice: Notice, dashboard_url: str) -> dict[str, Any]:
    """Return what a webhook is sent; docs/alerts.md describes the fields."""

    def full(alert: Alert) -> dict[str, Any]:
        return {**alert_to_dict(alert), "link": link(alert, dashboard_url, notice.at)}

    return {
        "version": 1,
        "key": notice.key,
        "kind": notice.kind.value,
        "group": notice.group,
        "severity": notice.severity.value,
        "at": notice.at,
        "title": title(notice),
        "text": body(notice, dashboard_url),
        "firing": [full(alert) for alert in notice.firing],
        "resolved": [full(alert) for alert in notice.resolved],
        "held_back": [full(alert) for alert in notice.held_back],
    }


def alertmanager_alerts(
    alerts: tuple[Alert, ...], dashboard_url: str, now: float, lasts_seconds: float
) -> list[dict[str, Any]]:
    """Return alerts as Alertmanager's API v2 takes them.

    Labels and start are the same from each instance that reads the same samples, so that
    Alertmanager takes them for one alert.

    Args:
        alerts: Alerts that fire or are resolved.
        dashboard_url: How others reach the dashboard.
        now: The present, in Unix seconds.
        lasts_seconds: For how long Alertmanager may take one that fires to go on.
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
                        ("cause", alert.cause),
                        ("next_step", alert.step),
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
