"""Four weeks of history and two hours of samples, from which the job derives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
from deltalake import write_deltalake

from lake.schemas.model import Table
from lake.schemas.tables import (
    GROUP_HISTORY,
    GROUP_OFFSETS,
    GROUP_PARTITION_HISTORY,
    GROUPS,
    TOPIC_HISTORY,
)
from lake.storage.store import Lake

END = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
WEEKS, CAPACITY_PER_SECOND, POLL = 4, 50.0, timedelta(seconds=30)


def write_hours(lake: Lake, table: Table, **values: object) -> None:
    """Write hours up to ``END``, one value an hour or the same for all."""
    number = max(len(one) for one in values.values() if isinstance(one, np.ndarray))
    start = pl.datetime_range(
        END - timedelta(hours=number), END, "1h", closed="left", time_zone="UTC", eager=True
    )
    rows = pl.DataFrame({"window_start": start}).with_columns(
        pl.lit("demo").alias("cluster"),
        pl.lit(3600).alias("grain_seconds"),
        pl.lit(0).alias("hour"),
        pl.col("window_start").dt.date().alias("date"),
        *(
            pl.Series(name, one) if isinstance(one, np.ndarray) else pl.lit(one).alias(name)
            for name, one in values.items()
        ),
    )
    whole = rows.select(
        (pl.col(name) if name in rows.columns else pl.lit(None).alias(name)).cast(type_)
        for name, type_ in table.polars_schema.items()
    )
    write_deltalake(
        lake.uri(table),
        whole.to_arrow(),
        mode="append",
        partition_by=["date", "grain_seconds", "hour"],
    )


def write_history(lake: Lake) -> None:
    dice = np.random.default_rng(7)
    at = np.arange(WEEKS * 168)
    usual = 100 * (1 + 0.5 * np.sin(2 * np.pi * at / 24)) * np.exp(0.05 * dice.normal(size=at.size))
    halved = np.where(at >= at.size - 8 * 24, 0.5, 1.0) * usual
    lag = (10 * usual).astype(np.int64)
    lag[-3] = 100_000
    write_hours(lake, GROUP_HISTORY, group="steady", arrival_per_second=usual, lag_max=lag)
    write_hours(lake, GROUP_HISTORY, group="halved", consumption_per_second=halved)
    write_hours(lake, GROUP_HISTORY, group="young", arrival_per_second=usual[:100])
    write_hours(lake, TOPIC_HISTORY, topic="orders", arrival_per_second=usual)
    write_hours(lake, TOPIC_HISTORY, topic="new", arrival_per_second=np.where(at < 600, 1.0, 30.0))
    for partition, arrived in enumerate((9000, 1000, 1000, 1000)):
        write_hours(
            lake,
            GROUP_PARTITION_HISTORY,
            group="slow",
            topic="orders",
            partition=partition,
            arrived=np.full(24, arrived),
            arrived_seconds=3600.0,
            consumed=900,
            consumed_seconds=3600.0,
            lag_last=10,
            resets=0,
        )


def write_samples(lake: Lake, first: datetime, until: datetime) -> None:
    """Two members that never wait, each with two partitions."""
    dice = np.random.default_rng(8)
    polls = int((until - first) / POLL)
    times = [first + POLL * number for number in range(polls)]
    seconds = POLL.total_seconds()
    frames = []
    for partition in range(4):
        each = CAPACITY_PER_SECOND / 2 * seconds * np.exp(0.1 * dice.normal(size=polls))
        committed = np.cumsum(each).astype(np.int64)
        frames.append(
            pl.DataFrame(
                {
                    "observed_at": times,
                    "committed": committed,
                    "log_end": committed + 500_000,
                    "lag": np.full(polls, 500_000),
                }
            ).with_columns(
                pl.lit("slow").alias("group"),
                pl.lit("orders").alias("topic"),
                pl.lit(partition, pl.Int32).alias("partition"),
                pl.lit(f"member-{partition // 2}").alias("member_id"),
                pl.lit(f"/10.0.0.{partition // 2}").alias("host"),
            )
        )
    stamp = (pl.lit("demo").alias("cluster"), pl.col("observed_at").cast(str).alias("poll_id"))
    lake.append(GROUP_OFFSETS, pl.concat(frames).with_columns(*stamp))
    groups = pl.DataFrame({"observed_at": times, "group": "slow", "members": 2})
    lake.append(GROUPS, groups.with_columns(*stamp))
