"""A large lake that goes on: polled, evaluated and advised as services do, in a process beside."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import polars as pl
from deltalake import write_deltalake

from alerting.rules.lifecycle import State
from alerting.service import AlertingService
from bench.support.samples import (
    CLUSTER,
    IDLE_RATIO,
    INTERVAL_SECONDS,
    LATE_EVERY,
    USUAL_DELAY_SECONDS,
    Collector,
    Workload,
    fill,
    ten_minutes_ago,
)
from config.load import load
from config.scaling import ScalingSettings
from lake.schemas.model import Table
from lake.schemas.tables import CLUSTER_HISTORY, GROUP_HISTORY, RECOMMENDATIONS, TOPIC_HISTORY
from lake.storage.append import conform
from lake.storage.store import Lake
from scaling.advice.advice_table import recommendation_frame, recommendation_rows
from scaling.evaluate import evaluate

GROUPS_OF_A_TOPIC, PARTITIONS_OF_A_TOPIC = 5, 25
"""10,000 groups read 2,000 topics, of 50,000 partitions in all."""
_MORE_CLUSTERS = 2
_SMALLER = 10
_INCIDENT_EVERY = 5
_MINUTES, _HOURS = 60, 30 * 24
_RULES = "rules:\n  GroupStopped: {for: 0s}\n"
"""Alerts fire at the first evaluation."""


@contextmanager
def live_lake(
    folder: Path,
    groups: int,
    on_progress: Callable[[str], None],
    *,
    incident: bool,
    alerting: bool,
    refresh_seconds: int,
) -> Iterator[tuple[Path, int]]:
    """Make a lake of three clusters and let it go on; yield its configuration and its alerts.

    One cluster has all the groups, of 15 partitions each, five on a topic of 25 partitions; two
    more have a tenth of it. There are ten minutes of polls, an hour by the minute and 30 days by
    the hour.

    Args:
        folder: Where the lake and its configuration are made.
        groups: How many groups.
        on_progress: Is given what is done next.
        incident: Every fifth group lost its consumers some minutes ago, and has an alert.
        alerting: Whether the alerting service evaluates; else the dashboard does.
        refresh_seconds: How often pages are drawn again.
    """
    config = folder / "headroom.yaml"
    clusters = "".join(
        f"  - name: {name}\n    bootstrap_servers: 127.0.0.1:1\n"
        f"    poll_interval_seconds: {INTERVAL_SECONDS:g}\n"
        for name in _sizes(groups)
    )
    config.write_text(
        f"clusters:\n{clusters}lake:\n  uri: lake\nalerting:\n  rules: rules.yaml\n"
        f"app:\n  refresh_seconds: {refresh_seconds}\n"
    )
    (folder / "rules.yaml").write_text(_RULES)
    mine, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_go_on, args=(config, groups, incident, alerting, theirs), daemon=True
    )
    process.start()
    theirs.close()
    try:
        said = mine.recv()
        while isinstance(said, str):
            on_progress(said)
            said = mine.recv()
        yield config, said
    except EOFError:
        raise RuntimeError("making the lake failed") from None
    finally:
        process.terminate()
        process.join()


def _sizes(groups: int) -> dict[str, int]:
    small = max(1, groups // _SMALLER)
    return {CLUSTER: groups} | {f"{CLUSTER}-{n + 2}": small for n in range(_MORE_CLUSTERS)}


def _go_on(config: Path, groups: int, incident: bool, alerting: bool, parent: Connection) -> None:
    """Make the lake, send its number of alerts, and then a poll and an evaluation each cadence."""
    settings = load(config)
    lake = Lake(settings.lake)
    parent.send("writing ten minutes of polls")
    collectors = [
        Collector(
            lake,
            Workload(
                groups=size,
                cluster=cluster,
                groups_of_a_topic=GROUPS_OF_A_TOPIC,
                partitions_of_a_topic=PARTITIONS_OF_A_TOPIC,
                idle_ratio=IDLE_RATIO,
                start=ten_minutes_ago(),
                delay_seconds=USUAL_DELAY_SECONDS,
                late_every=LATE_EVERY,
                stopped_every=_INCIDENT_EVERY if incident else 0,
            ),
        )
        for cluster, size in _sizes(groups).items()
    ]
    now = max(fill(collector) for collector in collectors)
    parent.send("writing an hour by the minute and 30 days by the hour")
    _write_history(lake, groups, now, grain=60, windows=_MINUTES)
    hour = now.replace(minute=0)
    for day in range(_HOURS // 24):
        _write_history(lake, groups, hour - timedelta(days=day), grain=3600, windows=24)
    parent.send("advising")
    _write_advice(lake, now)
    parent.send("evaluating")
    # Whoever evaluates by a clock of its own would see an incident that lies further back.
    service = AlertingService(settings) if alerting else None
    alerts: int | None = None
    while True:
        for collector in collectors:
            while collector.workload.next_at <= datetime.now(UTC):
                collector.poll()
        if service is not None:
            service.evaluate()
        if alerts is None:
            open_ = service.store.alerts().values() if service is not None else ()
            alerts = sum(alert.state is State.FIRING for alert in open_)
            parent.send(alerts)
        wait = min(collector.workload.next_at for collector in collectors) - datetime.now(UTC)
        time.sleep(max(0.0, wait.total_seconds()))


def _write_history(lake: Lake, groups: int, now: datetime, *, grain: int, windows: int) -> None:
    """Write the last windows of groups, topics and the cluster."""
    random = np.random.default_rng(3)
    end = now.replace(second=0, microsecond=0)
    times = pl.DataFrame(
        {"window_start": [end - timedelta(seconds=grain * n) for n in range(windows)]}
    )
    of_groups = pl.DataFrame({"group": [f"team-{n // 50}.service-{n}" for n in range(groups)]})
    topics = -(-groups // GROUPS_OF_A_TOPIC)
    of_topics = pl.DataFrame({"topic": [f"events.domain-{n}.v1" for n in range(topics)]})
    series: tuple[tuple[Table, pl.DataFrame], ...] = (
        (GROUP_HISTORY, of_groups.join(times, how="cross")),
        (TOPIC_HISTORY, of_topics.join(times, how="cross")),
        (CLUSTER_HISTORY, times),
    )
    for table, keys in series:
        values = {
            name: random.integers(0, 10_000, keys.height)
            for name in ("lag_max", "time_lag_seconds_max", "arrival_per_second", "arrived")
            if name in table.polars_schema
        }
        # Minutes are kept an hour a folder, longer windows a day.
        hour = pl.col("window_start").dt.hour() if grain == 60 else pl.lit(0)
        rows = keys.with_columns(
            pl.lit(CLUSTER).alias("cluster"),
            pl.lit(grain, pl.Int32).alias("grain_seconds"),
            hour.cast(pl.Int32).alias("hour"),
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
