"""How long the dashboard's server works for a page on a large cluster, and what it holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from deltalake import write_deltalake

from alerting.rules.lifecycle import State
from alerting.service import AlertingService
from bench.cases.advice import fill
from bench.support.figures import Figure
from bench.support.process_usage import resident_bytes
from bench.support.samples import CLUSTER
from config.load import CONFIG_VARIABLE, load
from config.scaling import ScalingSettings
from config.settings import Settings
from lake.schemas.model import Table
from lake.schemas.tables import CLUSTER_HISTORY, GROUP_HISTORY, RECOMMENDATIONS, TOPIC_HISTORY
from lake.storage.append import conform
from lake.storage.store import Lake
from scaling.advice.advice_table import recommendation_frame, recommendation_rows
from scaling.evaluate import evaluate

GROUPS = 10_000
MOST_SECONDS = 1.0
MOST_BYTES = 1_000_000_000
_PAGES = (
    "overview",
    "groups",
    "group",
    "topics",
    "topic",
    "brokers",
    "dead_letters",
    "scaling",
    "alerts",
    "health",
)
_PARAMETERS = {"group": "team-0.service-7", "topic": "events.domain-7.v1"}
_RUNS = 5
_MINUTES = 60
_INCIDENT_EVERY = 5
_RULES = "rules:\n  GroupStopped: {for: 0s}\n"
"""Alerts fire at the only evaluation."""


def measure(
    groups: int,
    on_progress: Callable[[str], None],
    *,
    incident: bool = False,
    alerting: bool = True,
) -> list[Figure]:
    """Draw each page on a lake with ten minutes of samples, an hour of history, and advice.

    Every drawing after the first one begins with expired answers, as a refresh does.

    Args:
        groups: How many groups of 15 partitions.
        on_progress: Is given what is done next.
        incident: Every fifth group lost its consumers some minutes ago, and has an alert.
        alerting: Whether the alerting service evaluated the cluster; else the dashboard does.
    """
    with TemporaryDirectory(prefix="headroom-bench-pages-") as folder:
        path = Path(folder) / "headroom.yaml"
        path.write_text(
            f"clusters:\n  - name: {CLUSTER}\n    bootstrap_servers: 127.0.0.1:1\n"
            "    poll_interval_seconds: 15\nlake:\n  uri: lake\nalerting:\n  rules: rules.yaml\n"
        )
        (Path(folder) / "rules.yaml").write_text(_RULES)
        settings = load(path)
        lake = Lake(settings.lake)
        on_progress("writing ten minutes of polls and an hour of history")
        now = fill(lake, groups, stopped_every=_INCIDENT_EVERY if incident else 0)
        _write_history(lake, groups, now)
        alerts = 0
        if alerting:
            on_progress("evaluating")
            alerts = _evaluate(settings, now.timestamp())
        on_progress("advising")
        _write_advice(lake, now)
        on_progress("drawing pages")
        answer = subprocess.run(  # noqa: S603 (a process of its own: its memory is the dashboard's)
            [sys.executable, "-m", "bench.cases.pages", str(now.timestamp())],
            env={**os.environ, CONFIG_VARIABLE: str(path)},
            capture_output=True,
            text=True,
            check=False,
        )
        if answer.returncode:
            raise RuntimeError(f"drawing pages failed:\n{answer.stderr}")
    found = json.loads(answer.stdout.splitlines()[-1])
    goal = MOST_SECONDS if groups == GROUPS else None
    name = f"{groups:,} groups"
    if incident:
        name += " in an incident"
    if not alerting:
        name += ", without alerting"
    return [
        Figure(name=f"{name}: alerts", value=alerts, unit="alerts"),
        *(
            Figure(
                name=f"{name}: {page}, refreshed, median",
                value=median(seconds[1:]),
                unit="s",
                most=goal,
            )
            for page, seconds in found["pages"].items()
        ),
        *(
            Figure(name=f"{name}: {page}, the first time", value=seconds[0], unit="s")
            for page, seconds in found["pages"].items()
        ),
        Figure(
            name=f"{name}: memory of the process after all pages",
            value=found["resident_bytes"],
            unit="bytes",
            most=MOST_BYTES if groups == GROUPS else None,
        ),
    ]


def _evaluate(settings: Settings, now: float) -> int:
    """Let the alerting service evaluate once; return how many alerts fire."""
    service = AlertingService(settings, clock=lambda: now)
    try:
        service.evaluate()
        return sum(alert.state is State.FIRING for alert in service.store.alerts().values())
    finally:
        service.close()


def _write_history(lake: Lake, groups: int, now: datetime) -> None:
    """Write an hour of minutes of groups, topics and the cluster."""
    random = np.random.default_rng(3)
    end = now.replace(second=0, microsecond=0)
    minutes = pl.DataFrame({"window_start": [end - timedelta(minutes=n) for n in range(_MINUTES)]})
    of_groups = pl.DataFrame({"group": [f"team-{n // 50}.service-{n}" for n in range(groups)]})
    of_topics = pl.DataFrame({"topic": [f"events.domain-{n}.v1" for n in range(groups)]})
    series: tuple[tuple[Table, pl.DataFrame], ...] = (
        (GROUP_HISTORY, of_groups.join(minutes, how="cross")),
        (TOPIC_HISTORY, of_topics.join(minutes, how="cross")),
        (CLUSTER_HISTORY, minutes),
    )
    for table, keys in series:
        values = {
            name: random.integers(0, 10_000, keys.height)
            for name in ("lag_max", "time_lag_seconds_max", "arrival_per_second", "arrived")
            if name in table.polars_schema
        }
        rows = keys.with_columns(
            pl.lit(CLUSTER).alias("cluster"),
            pl.lit(60, pl.Int32).alias("grain_seconds"),
            pl.col("window_start").dt.hour().cast(pl.Int32).alias("hour"),
            *(pl.Series(name, column) for name, column in values.items()),
        )
        typed = rows.with_columns(pl.col(name).cast(table.polars_schema[name]) for name in values)
        write_deltalake(
            lake.uri(table),
            conform(table, typed).to_arrow(),
            mode="append",
            partition_by=["date", "grain_seconds", "hour"],
        )


def _write_advice(lake: Lake, now: datetime) -> None:
    """Write what the history service advises on every group and topic."""
    advice = evaluate(lake, CLUSTER, now, ScalingSettings())
    rows = recommendation_frame(recommendation_rows(advice, at=now))
    write_deltalake(
        lake.uri(RECOMMENDATIONS),
        conform(RECOMMENDATIONS, rows).to_arrow(),
        mode="append",
        partition_by=["date"],
    )


def draw_all(now: datetime) -> dict[str, list[float]]:
    """Draw each page some times in this process; return the seconds that each drawing took."""
    import streamlit as st
    from streamlit.config import set_option
    from streamlit.testing.v1 import AppTest

    import app.data.context
    from app.data.evaluation import wait_for_evaluations

    set_option("server.address", "127.0.0.1")  # as `python -m app` gives it
    app.data.context.utc_now = lambda: now
    script = str(Path(app.data.context.__file__).parents[1] / "main.py")
    AppTest.from_file(script, default_timeout=600).run()
    wait_for_evaluations()  # begun by the first drawing where no alerting service did it before
    found: dict[str, list[float]] = {}
    overview: list[str] = []
    for page in _PAGES:
        test = AppTest.from_file(script, default_timeout=600)
        if page != "overview":
            test.run()  # which tells what pages there are
            test.switch_page(f"views/{page}/page.py")
        if page in _PARAMETERS:
            test.query_params[page] = _PARAMETERS[page]
        seconds = []
        for _ in range(1 + _RUNS):
            st.cache_data.clear()
            began = time.perf_counter()
            test.run()
            seconds.append(time.perf_counter() - began)
            if test.exception:
                raise RuntimeError(f"{page}: {test.exception[0].value}")
        words = [element.value for element in (*test.title, *test.subheader, *test.caption)]
        if page == "overview":
            overview = words
        elif words == overview:
            raise RuntimeError(f"{page}: the overview was drawn in its place")
        found[page] = seconds
    return found


if __name__ == "__main__":
    drawn = draw_all(datetime.fromtimestamp(float(sys.argv[1]), UTC))
    print(json.dumps({"pages": drawn, "resident_bytes": resident_bytes()}))
