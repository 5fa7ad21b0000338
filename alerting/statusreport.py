"""The state of alerts as one object, and as tables for a person to read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from alerting.codec import alert_to_dict
from alerting.lifecycle import State, active
from alerting.rulefile import RuleSet
from alerting.service import SERVICE, is_quiet
from alerting.store import AlertStore
from alerting.words import duration


def status_as_object(store: AlertStore, rules: RuleSet, now: float) -> dict[str, Any]:
    """Return what fires, is pending, is held back or silenced, and how delivery goes.

    Args:
        store: The alert store.
        rules: The rules, for their maintenance windows.
        now: The present, in Unix seconds.

    Raises:
        StoreError: The store cannot be read.
    """
    alerts = store.alerts()
    silences, acknowledged = store.silences(now), store.acknowledgements()
    names = {alert.fingerprint: alert.what for alert in alerts.values()}

    def row(alert: Any) -> dict[str, Any]:
        by = acknowledged.get(alert.id)
        return {
            **alert_to_dict(alert),
            "is_silenced": is_quiet(alert, silences, rules.maintenance, now),
            "acknowledged_by": by.author if by else None,
            "age_seconds": round(now - alert.began_at, 1),
            "cause_alert": names.get(alert.held_by) if alert.held_by else None,
        }

    firing = active(alerts.values())
    pending = [alert for alert in alerts.values() if alert.state is State.PENDING]
    return {
        "service": store.noted(SERVICE),
        "firing": [row(alert) for alert in firing if not alert.is_held],
        "held_back": [row(alert) for alert in firing if alert.is_held],
        "pending": [row(alert) for alert in sorted(pending, key=lambda a: a.started_at)],
        "targets": [asdict(health) for health in store.health()],
    }


def print_status(console: Console, found: dict[str, Any]) -> None:
    """Print what ``status_as_object`` found."""
    if found["service"] is None:
        console.print("The alerting service has not run on this store yet.")
    for title in ("firing", "held_back", "pending"):
        rows = found[title]
        console.print(Text(f"{title.replace('_', ' ')}: {len(rows)}", "bold"))
        if not rows:
            continue
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("id", "severity", "rule", "cluster", "what", "for", ""):
            table.add_column(column, overflow="fold")
        for row in rows:
            marks = [
                text
                for text, is_so in (
                    ("silenced", row["is_silenced"]),
                    (f"acknowledged by {row['acknowledged_by']}", row["acknowledged_by"]),
                    (f"under {row['cause_alert']}", row["cause_alert"]),
                )
                if is_so
            ]
            cells = (
                row["id"][:8],
                row["severity"],
                row["rule"],
                row["labels"].get("cluster", ""),
                row["what"],
                duration(row["age_seconds"]),
                ", ".join(marks),
            )
            table.add_row(*(Text(str(cell)) for cell in cells))
        console.print(table)
    for target in found["targets"]:
        waits = f", {target['waiting']} wait: {target['answer']}" if target["waiting"] else ""
        lost = f", {target['failed']} given up" if target["failed"] else ""
        console.print(Text(f"target {target['target']}: {target['sent']} sent{waits}{lost}"))
