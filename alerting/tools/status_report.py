"""The state of alerts as one object, and as tables for a person to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from alerting.notify.json_codec import alert_to_dict
from alerting.notify.problems import SHOWN_SECONDS, all_problems, silence_problems
from alerting.notify.store import AlertStore
from alerting.rules.lifecycle import State, active
from alerting.rules.rule_file import usable_rules
from alerting.service import SERVICE, is_quiet
from alerting.status.model import Status
from alerting.status.phrases import duration, or_before
from config.visible import visible
from lake.errors import LakeError
from lake.schemas.current import CLUSTER_STATUS, GROUP_STATUS
from lake.storage.current_store import CurrentStore


def status_as_object(store: AlertStore, rules_file: Path | None, now: float) -> dict[str, Any]:
    """Return what fires, is pending, inhibited, silenced or left out, and how delivery goes."""
    alerts, rules, service = store.alerts(), usable_rules(rules_file), store.noted(SERVICE)
    silences, acknowledged = store.silences(now), store.acknowledgements()
    names = {alert.fingerprint: alert.what for alert in alerts.values()}

    def row(alert: Any) -> dict[str, Any]:
        by = acknowledged.get(alert.id)
        return {
            **alert_to_dict(alert),
            "is_silenced": is_quiet(alert, silences, rules.maintenance, now),
            "acknowledged_by": by.author if by else None,
            "age_seconds": round(now - alert.first_began_at, 1),
            "cause_alert": names.get(alert.inhibited_by) if alert.inhibited_by else None,
        }

    firing = active(alerts.values())
    pending = [alert for alert in alerts.values() if alert.state is State.PENDING]
    return {
        "service": service,
        "problems": all_problems(
            service,
            rules_file,
            rules.problems,
            [*silence_problems(silences, now), *store.unreadable(now - SHOWN_SECONDS)],
        ),
        "firing": [row(alert) for alert in firing if not alert.is_inhibited],
        "inhibited": [row(alert) for alert in firing if alert.is_inhibited],
        "pending": [row(alert) for alert in sorted(pending, key=lambda a: a.started_at)],
        "targets": [asdict(health) for health in store.health()],
    }


def written_clusters(current: CurrentStore, clusters: Sequence[str]) -> list[dict[str, Any]]:
    """Return what the service wrote of each cluster: groups that are not OK, and since when."""
    found = []
    for cluster in clusters:
        row: dict[str, Any] = {"cluster": cluster, "evaluated_at": None, "groups": None}
        try:
            evaluated = current.read(CLUSTER_STATUS, cluster)
            groups = current.read(GROUP_STATUS, cluster)
        except LakeError as error:
            found.append(row | {"unreadable": str(error)})
            continue
        if evaluated is not None and groups is not None:
            row |= evaluated.select(pl.col("evaluated_at").dt.to_string(), "groups").row(
                0, named=True
            )
            row["not_ok"] = (
                groups.filter(pl.col("status") != Status.OK.value)
                .select("group", "status", pl.col("since").dt.to_string(), "since_at_least")
                .to_dicts()
            )
        found.append(row)
    return found


def print_status(console: Console, found: dict[str, Any]) -> None:
    """Print what ``status_as_object`` found."""
    if found["service"] is None:
        console.print("The alerting service has not run on this store yet.")
    for problem in found["problems"]:
        console.print(Text(visible(problem), "yellow"), soft_wrap=True)
    for title in ("firing", "inhibited", "pending"):
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
                    ("no data", row["no_data_since"] is not None),
                    ("recovering", row["recovering_since"] is not None),
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
            table.add_row(*(Text(visible(cell)) for cell in cells))
        console.print(table)
    for row in found["clusters"]:
        _print_cluster(console, row)
    for target in found["targets"]:
        waits = f", {target['waiting']} wait: {target['answer']}" if target["waiting"] else ""
        lost = f", {target['failed']} given up" if target["failed"] else ""
        said = f"target {target['target']}: {target['sent']} sent{waits}{lost}"
        console.print(Text(visible(said)))


def _print_cluster(console: Console, row: dict[str, Any]) -> None:
    if row["evaluated_at"] is None:
        why = row.get("unreadable", "not evaluated yet")
        console.print(Text(visible(f"cluster {row['cluster']}: {why}")))
        return
    late = row["not_ok"]
    console.print(
        Text(
            f"cluster {row['cluster']}: {len(late)} of {row['groups']} groups not OK, as of "
            f"{row['evaluated_at']}"
        )
    )
    for group in late:
        since = or_before(str(group["since"]), at_least=bool(group["since_at_least"]))
        said = f"{group['group']}: {group['status']} since {since}"
        console.print(Text(f"  {visible(said)}"))
