"""The commands by which rules are tried and targets are sent a sample."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from alerting.errors import DeliveryError
from alerting.inputs.lake_rows import clusters_of
from alerting.notify.notifications import Notification, NotificationIntervals, NotificationKind
from alerting.notify.targets.registry import make_target
from alerting.notify.wording import moment
from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import AlertSeverity
from alerting.rules.rule_file import RuleSet
from alerting.service import dashboard_url
from alerting.status.phrases import duration, plural
from alerting.tools.replay import Replayed, replay
from alerting.tools.rule_tests import run_tests
from config.settings import Settings
from config.visible import visible
from lake.storage.store import Lake

LONGEST_SECONDS = 7 * 86400.0
"""Most history that one replay takes."""


def parse_moment(text: str) -> float:
    """Return Unix seconds from ISO 8601; without a zone it is UTC.

    Raises:
        ValueError: It is none.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text}: must be a moment such as 2026-01-05T10:00Z") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def replay_command(
    settings: Settings,
    rules: RuleSet,
    first: float,
    last: float,
    *,
    only: str | None = None,
    as_json: bool = False,
) -> None:
    """Print what rules would have done between two moments.

    Raises:
        ValueError: The moments or the cluster make no sense.
    """
    if last <= first:
        raise ValueError("--to must be later than --from")
    if last - first > LONGEST_SECONDS:
        raise ValueError(f"at most {duration(LONGEST_SECONDS)} can be replayed at once")
    clusters = clusters_of(settings)
    if only is not None and only not in clusters:
        raise ValueError(f"--cluster: there is no {only}; those configured: {', '.join(clusters)}")
    lake = Lake(settings.lake)
    intervals = NotificationIntervals(
        group_interval_seconds=settings.alerting.group_interval_seconds,
        repeat_interval_seconds=settings.alerting.repeat_interval_seconds,
    )
    found: dict[str, Replayed] = {}
    console = Console(stderr=True)
    with console.status("Replaying") as shown:
        for cluster in [only] if only else clusters:
            name = cluster
            found[name] = replay(
                lake,
                name,
                rules.rules,
                first,
                last,
                interval_seconds=settings.collectors.poll_interval_seconds,
                intervals=intervals,
                windows=rules.maintenance,
                objective=settings.scaling.objective_seconds,
                # mypy cannot tell the type of a default argument.
                progress=lambda share, name=name: shown.update(  # type: ignore[misc]
                    f"Replaying {name}: {share:.0%}"
                ),
            )
    rows = [row(alert, last) for one in found.values() for alert in one.alerts]
    messages = sum(one.messages for one in found.values())
    evaluations = sum(one.evaluations for one in found.values())
    if as_json:
        print(
            json.dumps({"alerts": rows, "messages": messages, "evaluations": evaluations}, indent=2)
        )
        return
    out = Console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("from", "to", "lasted", "severity", "rule", "cluster", "what"):
        table.add_column(column, overflow="fold")
    for one in rows:
        held = " (inhibited)" if one["inhibited_by"] else ""
        cells = (
            moment(one["from"]),
            "still" if one["to"] is None else moment(one["to"]),
            duration((one["to"] or last) - one["from"]),
            one["severity"],
            one["rule"],
            one["labels"].get("cluster", ""),
            f"{one['what']}{held}",
        )
        table.add_row(*(Text(visible(cell)) for cell in cells))
    if rows:
        out.print(table)
    out.print(
        f"{plural(len(rows), 'alert')} and {plural(messages, 'message')} in "
        f"{plural(evaluations, 'evaluation')}",
        highlight=False,
    )


def row(alert: Alert, last: float) -> dict[str, Any]:
    """Return an alert of a replay: ``from`` it fired ``to`` its resolution, null at the end."""
    return {
        "rule": alert.rule,
        "severity": alert.severity.value,
        "status": alert.status,
        "labels": dict(alert.labels),
        "what": alert.what,
        "detail": alert.detail,
        "first_seen": alert.started_at,
        "from": alert.fired_at,
        "to": alert.resolved_at,
        "seconds": round((alert.resolved_at or last) - (alert.fired_at or last), 3),
        "inhibited_by": alert.inhibited_by,
    }


def test_notify_command(settings: Settings, only: Sequence[str], as_json: bool) -> bool:
    """Send a sample to every target, print what came back, and tell whether all took it.

    Raises:
        ValueError: There is no such target, or none at all.
    """
    targets = settings.alerting.targets
    names = [target.name for target in targets]
    for name in only:
        if name not in names:
            raise ValueError(f"there is no target {name}; those configured: {', '.join(names)}")
    if not targets:
        raise ValueError("no target is configured: alerting.targets in the configuration")
    url = dashboard_url(settings)
    results = []
    for target in targets:
        if only and target.name not in only:
            continue
        began = time.monotonic()
        notification = sample(settings.clusters[0].name, time.time())
        try:
            said, took = make_target(target, url).send(notification), True
        except DeliveryError as error:
            said, took = str(error), False
        except Exception as error:  # a fault in a library; its text may hold an address
            said, took = f"a fault in sending: {type(error).__name__}", False
        results.append(
            {
                "target": target.name,
                "kind": target.kind,
                "ok": took,
                "answer": said,
                "seconds": round(time.monotonic() - began, 3),
            }
        )
        if not as_json:
            word = "took it" if took else "FAILED"
            print(f"{target.name} ({target.kind}): {word}: {visible(said)}", flush=True)
    if as_json:
        print(json.dumps({"targets": results}, indent=2))
    return all(result["ok"] for result in results)


def sample(cluster: str, now: float) -> Notification:
    """Return a notification that says that it is a test."""
    alert = Alert(
        fingerprint=f"test-{int(now * 1000)}",
        rule="HeadroomTest",
        check="lag",
        severity=AlertSeverity.INFO,
        labels={"cluster": cluster, "group": "headroom-test"},
        state=State.FIRING,
        started_at=now,
        last_true_at=now,
        fired_at=now,
        what="This is a test of Headroom's alerts",
        detail="Nothing is wrong.",
        cause="Somebody ran python -m alerting test-notify.",
        step="Nothing is to be done.",
    )
    key = f"test-{int(now * 1000)}"
    return Notification(
        key=key,
        group=f"{cluster}/HeadroomTest",
        kind=NotificationKind.TEST,
        at=now,
        severity=AlertSeverity.INFO,
        firing=(alert,),
    )


def test_command(path: Path) -> bool:
    """Run a file of rule tests, print what became of each, and tell whether all passed."""
    results = run_tests(path)
    for result in results:
        print(f"{'FAILED' if result.failures else 'ok':6} {result.name}")
        for line in result.failures:
            print(f"       {line}")
    failed = sum(1 for result in results if result.failures)
    print(f"{len(results) - failed} passed, {failed} failed", file=sys.stderr)
    return not failed
