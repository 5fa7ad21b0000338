"""``python -m collectors backfill``: what it says, and how it ends."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import UTC, datetime

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from collectors.errors import CollectorError, SettingsError
from collectors.prometheus.backfill import (
    Backfill,
    BackfillError,
    Report,
    Window,
    chosen,
    duration,
    moment,
    windows,
)
from config.integrations import PrometheusSettings
from config.settings import Settings
from lake.errors import LakeError
from lake.storage.store import Lake

DONE, FAILED, REFUSED = 0, 1, 2


def backfill_command(
    settings: Settings, first: str, last: str, step: str, source: str | None
) -> int:
    """Bring history into the lake, showing the progress."""
    console = Console(stderr=True, highlight=False)
    now = datetime.now(UTC)
    try:
        start, end = moment("--from", first, now), moment("--to", last, now)
        parts = list(windows(start, end, duration("--step", step)))
        servers = chosen(settings, source)
    except (BackfillError, SettingsError) as error:
        print(error, file=sys.stderr)
        return REFUSED
    lake = Lake(settings.lake)
    added: Counter[str] = Counter()
    for server in servers:
        try:
            report, failure = _fill(server, settings, lake, parts, console)
        except SettingsError as error:
            print(error, file=sys.stderr)
            return REFUSED
        _say(console, server.name, report)
        added += report.added
        if failure is not None:
            print(
                f"error: {server.name}: {failure}; what was added stays: run it again to go on",
                file=sys.stderr,
            )
            return FAILED
    if added.keys() - {"broker_metrics"}:
        console.print(
            "history is computed from it by: python -m spark_metrics backfill "
            f"--from {start:%Y-%m-%dT%H:%M} --to {end:%Y-%m-%dT%H:%M} --config …",
            markup=False,
            soft_wrap=True,
        )
    return DONE


def _fill(
    server: PrometheusSettings,
    settings: Settings,
    lake: Lake,
    parts: list[Window],
    console: Console,
) -> tuple[Report, str | None]:
    """Fill all windows; return what was done, and why it ended early if it did."""
    backfill = Backfill(server, settings, lake)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    try:
        with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
            task = progress.add_task(f"{server.name}:", total=len(parts))
            backfill.run(parts, lambda done: progress.update(task, completed=done))
    except (CollectorError, LakeError) as error:
        return backfill.report, str(error)
    finally:
        backfill.close()
    return backfill.report, None


def _say(console: Console, name: str, report: Report) -> None:
    lines = [f"{name}: {rows} rows added to {table}" for table, rows in report.added.items()]
    lines += [
        f"{name}: {moments} moments of {table} left alone, the lake has samples of them"
        for table, moments in report.skipped.items()
    ]
    lines += [f"{name}: Prometheus warns: {warning}" for warning in report.warnings]
    if not report.added and not report.skipped:
        lines.append(
            f"{name}: Prometheus has nothing of that time; check labels and exporter_labels "
            "(python -m collectors check)"
        )
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
