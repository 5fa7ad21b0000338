"""A lake as the demo would leave it: every page has something true to show.

Broker 2 has been missing for eight minutes. ``payments`` falls behind, ``search-indexer`` is stuck
on one partition, ``archive`` has stopped, ``clicks-enricher`` has idle members, ``stock`` is close
to losing data, ``reports`` cannot be read because its coordinator is gone, ``shipping`` is on the
consumer protocol, ``sessions`` has a hot partition; one dead-letter topic has a redrive group and
the other has none.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
from deltalake import write_deltalake

from alerting.current.state import EvaluationInMemory
from alerting.rules.rule_file import RuleSet
from config.settings import Settings
from lake.schemas.model import Table
from lake.storage.append import conform
from lake.storage.current_store import CurrentStore
from lake.storage.store import Lake
from tests.app.world import CLUSTER, HOUR_GRAIN, MINUTE_GRAIN, POLL_SECONDS
from tests.app.world_history import history_rows
from tests.app.world_samples import bronze_rows, overrides


def settings_yaml(
    folder: Path, *, clusters: tuple[str, ...] = (CLUSTER,), refresh_seconds: int = 30
) -> Path:
    """Write a configuration whose lake lies beside it."""
    names = "".join(
        f"  - name: {name}\n    bootstrap_servers: 127.0.0.1:1\n"
        f"    poll_interval_seconds: {POLL_SECONDS}\n"
        for name in clusters
    )
    path = folder / "headroom.yaml"
    path.write_text(
        f"clusters:\n{names}lake:\n  uri: lake\napp:\n  refresh_seconds: {refresh_seconds}\n"
    )
    return path


def fill(settings: Settings, *, now: datetime | None = None, gold: bool = True) -> datetime:
    """Write 20 minutes of samples, and six hours by the minute and a week by the hour.

    Returns:
        The moment of the newest poll.
    """
    lake = Lake(settings.lake)
    end = (now or datetime.now(UTC)).replace(microsecond=0) - timedelta(seconds=2)
    for table, rows in bronze_rows(end).items():
        frame = pl.DataFrame(
            rows, schema_overrides=overrides(table, rows), infer_schema_length=None
        )
        lake.append(table, frame)
    if gold:
        for grain, length in ((MINUTE_GRAIN, 6 * 3600), (HOUR_GRAIN, 7 * 86400)):
            for table, rows in history_rows(end, grain, length).items():
                write_gold(lake, table, pl.DataFrame(rows, infer_schema_length=None))
    return end


def evaluate(settings: Settings, *moments: datetime, cluster: str = CLUSTER) -> None:
    """Write what an alerting service finds of the samples; what lasts fires at a later moment."""
    evaluation = EvaluationInMemory(Lake(settings.lake), RuleSet().rules, watched_since=0.0)
    for now in moments:
        rows = evaluation.evaluate(cluster, now.timestamp())
        CurrentStore(settings.lake).replace_all(cluster, rows)


def write_gold(lake: Lake, table: Table, frame: pl.DataFrame) -> None:
    """Write rows of a history table, which is otherwise Spark's."""
    # Minute rows are replaced an hour at a time, longer windows a day at a time.
    part = (
        pl.when(pl.col("grain_seconds") == 60).then(pl.col("window_start").dt.hour()).otherwise(0)
    )
    rows = conform(table, frame.with_columns(part.alias("hour")))
    write_deltalake(
        lake.uri(table),
        rows.to_arrow(),
        mode="append",
        partition_by=["date", "grain_seconds", "hour"],
    )
