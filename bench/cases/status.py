"""How long it takes to classify many consumer groups at a poll, without a broker or a lake."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from statistics import median
from time import process_time

import numpy as np
import polars as pl
from numpy.typing import NDArray

from alerting.evaluate.group_tracker import LagWatch
from alerting.status.group_status import Status
from bench.support.figures import Figure

PARTITIONS_A_GROUP = 15
_POLL_SECONDS = 15
_WARM_POLLS = 45
_TROUBLED = 0.002
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def measure(groups: int, polls: int, goal_seconds: float | None) -> list[Figure]:
    """Let polls of so many groups come in, and time the classifying of each.

    Of five partitions one is idle, and two groups in a thousand stand still.
    """
    count = groups * PARTITIONS_A_GROUP
    numbers = np.arange(count)
    names = np.array([f"group-{number:05}" for number in range(groups)])
    keys = pl.DataFrame(
        {
            "group": names[numbers // PARTITIONS_A_GROUP],
            "topic": "bench",
            "partition": (numbers % PARTITIONS_A_GROUP).astype(np.int32),
        }
    )
    rng = np.random.default_rng(1)
    rates = np.where(numbers % 5 == 0, 0, rng.integers(1, 400, count))
    stuck = (numbers // PARTITIONS_A_GROUP) % round(1 / _TROUBLED) == 0
    watch = LagWatch("bench")
    adding, classifying = [], []
    stalled = 0
    for poll in range(_WARM_POLLS + polls):
        offsets, members = _rows(keys, names, poll, rates, stuck, rng)
        begin = process_time()
        watch.add(offsets, members)
        added = process_time()
        found = watch.statuses()
        ended = process_time()
        if poll >= _WARM_POLLS:
            adding.append(added - begin)
            classifying.append(ended - added)
            stalled = sum(1 for one in found.values() if one.status is Status.STALLED)
    both = [add + classify for add, classify in zip(adding, classifying, strict=True)]
    name = f"{count:,} group partitions"
    return [
        Figure(
            f"{name}: a poll taken over and classified, median", median(both), "CPU s", goal_seconds
        ),
        Figure(f"{name}: the slowest poll", max(both), "CPU s"),
        Figure(f"{name}: of it taken over, median", median(adding), "CPU s"),
        Figure(f"{name}: of it classified, median", median(classifying), "CPU s"),
        Figure("groups found to be stalled", stalled, "groups"),
    ]


def _rows(
    keys: pl.DataFrame,
    names: NDArray[np.str_],
    poll: int,
    rates: NDArray[np.int64],
    stuck: NDArray[np.bool_],
    rng: np.random.Generator,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    at = _BEGIN + timedelta(seconds=poll * _POLL_SECONDS)
    end = 1_000_000 + rates * poll * _POLL_SECONDS
    behind = np.minimum(rates * rng.integers(0, 5, len(rates)), rates * poll * _POLL_SECONDS)
    since = max(0, poll - 20) * _POLL_SECONDS
    lag = np.where(stuck, rates * since, behind)
    poll_of = [
        pl.lit("bench").alias("cluster"),
        pl.lit(at).alias("observed_at"),
        pl.lit(str(poll)).alias("poll_id"),
    ]
    offsets = keys.with_columns(
        *poll_of,
        pl.Series("committed", end - lag),
        pl.lit(0, pl.Int64).alias("log_start"),
        pl.Series("log_end", end),
        pl.Series("lag", lag),
        pl.Series("time_lag_seconds", np.where(lag > 0, lag / np.maximum(rates, 1), 0.0)),
        pl.lit("member").alias("member_id"),
        pl.lit(None, pl.String).alias("unknown_reason"),
        pl.lit(True).alias("is_subscribed"),
    )
    members = pl.DataFrame({"group": names}).with_columns(
        *poll_of,
        pl.lit(3, pl.Int32).alias("members"),
        pl.lit("stable").alias("state"),
        pl.lit(None, pl.String).alias("unknown_reason"),
    )
    return offsets, members
