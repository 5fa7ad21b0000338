"""When the lake, Overview and Alerts tell of faults in the demo, and what they say."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import polars as pl

from bench.support.chromium import Viewer, chromium, viewer
from bench.support.figures import Figure
from config.load import load
from lake.errors import LakeError
from lake.schemas.model import Table
from lake.schemas.tables import BROKERS, GROUPS
from lake.storage.store import Lake

_GROUP = "order-fulfilment"
_BROKER = 2
_PATIENCE = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A fault, or its end, and by what one sees that it was noticed.

    Attributes:
        in_lake: Whether the newest samples have it.
        overview: Whether Overview's text has it; Alerts' text likewise.
    """

    name: str
    command: tuple[str, ...]
    in_lake: Callable[[Lake], bool]
    overview: Callable[[str], bool]
    alerts: Callable[[str], bool]


def _newest(lake: Lake, table: Table, rows: pl.Expr) -> pl.DataFrame:
    try:
        found = lake.latest(
            table,
            cluster="demo",
            now=datetime.now(UTC),
            within=timedelta(minutes=5),
        )
    except LakeError:
        return pl.DataFrame()
    return found.filter(rows)


def _broker_is(lake: Lake, *, alive: bool) -> bool:
    rows = _newest(lake, BROKERS, pl.col("broker_id") == _BROKER)
    return bool(rows.height and rows["is_alive"][0] is alive)


def _members(lake: Lake) -> int | None:
    rows = _newest(lake, GROUPS, pl.col("group") == _GROUP)
    return rows["members"][0] if rows.height else None


_MISSING = f"Broker {_BROKER} is missing"
_STEPS = (
    Step(
        name=f"kill-broker {_BROKER}",
        command=("kill-broker", str(_BROKER)),
        in_lake=lambda lake: _broker_is(lake, alive=False),
        overview=lambda text: _MISSING in text,
        alerts=lambda text: _MISSING in text,
    ),
    Step(
        name="restore",
        command=("restore",),
        in_lake=lambda lake: _broker_is(lake, alive=True),
        overview=lambda text: _MISSING not in text,
        alerts=lambda text: _MISSING not in text,
    ),
    Step(
        name=f"stop-consumers {_GROUP}",
        command=("stop-consumers", _GROUP),
        in_lake=lambda lake: _members(lake) == 0,
        overview=lambda text: f"{_GROUP} stopped" in text,
        alerts=lambda text: f"{_GROUP} stopped" in text,
    ),
    Step(
        name=f"start-consumers {_GROUP}",
        command=("start-consumers", _GROUP),
        in_lake=lambda lake: bool(_members(lake)),
        overview=lambda text: f"{_GROUP} stopped" not in text,
        alerts=lambda text: f"{_GROUP} stopped" not in text,
    ),
)


def measure(
    data: Path, base: str, pictures: Path | None, on_progress: Callable[[str], None]
) -> list[Figure]:
    """Break the demo, put it right, and note the seconds until each tells of it.

    Args:
        data: The folder of a demo that runs.
        base: The address of its dashboard.
        pictures: A folder for pictures of Overview and Alerts after each step.
        on_progress: Is given what is done next.
    """
    lake = Lake(load(data / "demo.yaml").lake)
    figures = []
    with (
        chromium() as browser,
        viewer(browser, base) as overview,
        viewer(browser, base) as alerts,
    ):
        overview.open("/")
        alerts.open("/alerts")
        for step in _STEPS:
            on_progress(step.name)
            subprocess.run(  # noqa: S603 (this very Python, and our own module)
                [sys.executable, "-m", "demo", "fault", *step.command, "--data", str(data)],
                check=True,
                capture_output=True,
            )
            seconds = _until(
                {
                    "lake": partial(step.in_lake, lake),
                    "Overview": partial(_told, step.overview, overview),
                    "Alerts": partial(_told, step.alerts, alerts),
                }
            )
            figures += [
                Figure(name=f"{step.name}: {where}", value=took, unit="s")
                for where, took in seconds.items()
            ]
            if pictures is not None:
                pictures.mkdir(parents=True, exist_ok=True)
                for name, seen in (("overview", overview), ("alerts", alerts)):
                    file = f"{step.name.replace(' ', '-')}-{name}.png"
                    seen.page.screenshot(path=str(pictures / file))
    return figures


def _told(says: Callable[[str], bool], seen: Viewer) -> bool:
    return says(_listed(seen))


def _listed(seen: Viewer) -> str:
    """Return what the lists of what is wrong now name, folded rows too."""
    named = seen.page.locator("ul.items:not([aria-label^='What is over']) .what")
    return " ".join(named.all_text_contents())


def _until(asked: dict[str, Callable[[], bool]]) -> dict[str, float]:
    """Ask until all have told; return the seconds of each, infinite for one that did not."""
    began = time.monotonic()
    told: dict[str, float] = {}
    while len(told) < len(asked) and time.monotonic() - began < _PATIENCE:
        for name, ask in asked.items():
            if name not in told and ask():
                told[name] = time.monotonic() - began
        time.sleep(0.5)
    return {name: told.get(name, float("inf")) for name in asked}
