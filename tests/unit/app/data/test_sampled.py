"""Courses of a short time from samples: what follows stands beside the mark of its cause."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest

from app.data import sampled
from app.data.context import View
from app.data.history import SHORT, fine_step
from app.data.time_range import RANGES, between
from lake.schemas.tables import GROUP_OFFSETS, PARTITIONS
from tests.unit.app.views_of import NOW

START = NOW - timedelta(minutes=30)
LOST_AT = START + timedelta(minutes=5, seconds=4)
ENDED_AT = START + timedelta(minutes=9)


@pytest.fixture
def short(view: View) -> View:
    """The frame of an incident that is over, with samples of it and of later."""
    polls = [START + timedelta(seconds=4 + 15 * number) for number in range(60)]
    partitions = pl.DataFrame(
        [
            {
                **{"cluster": "east", "poll_id": f"{at:%H%M%S}", "observed_at": at},
                **{"date": at.date(), "topic": "t", "partition": number, "leader": 1},
                "replicas": [1, 2],
                "in_sync_replicas": [1] if LOST_AT <= at < ENDED_AT else [1, 2],
            }
            for at in polls
            for number in range(2)
        ]
    )
    offsets = partitions.select("cluster", "poll_id", "observed_at", "date").unique()
    late = offsets.with_columns(
        *(pl.lit(name).alias(name) for name in ("group", "topic")),
        partition=pl.lit(0),
        is_subscribed=pl.lit(value=True),
        time_lag_seconds=pl.when(pl.col("observed_at") >= LOST_AT).then(90.0).otherwise(1.0),
    )
    for table, rows in ((PARTITIONS, partitions), (GROUP_OFFSETS, late)):
        view.lake.append(table, pl.concat([table.empty, rows], how="diagonal_relaxed"))
    return replace(view, range=between(START, START + timedelta(minutes=12), NOW, 30))


def risen_at(frame: pl.DataFrame, column: str) -> datetime:
    high = frame.filter(pl.col(column) == frame[column].max())["time"].min()
    assert isinstance(high, datetime)
    return high


def test_what_follows_stands_beside_its_cause_not_at_the_end_of_the_minute(short: View) -> None:
    step = timedelta(seconds=fine_step(short.interval_seconds))
    risk, late = sampled.at_risk(short), sampled.of_groups(short, ["group"])
    assert risk is not None and late is not None
    for found, column in ((risk, "under_replicated"), (late, "time_lag_seconds")):
        end_of_step = risen_at(found.frame, column) + step
        assert LOST_AT <= end_of_step <= LOST_AT + step
        assert found.step_seconds == step.total_seconds()
        last = found.frame["time"].max()
        assert isinstance(last, datetime) and START + timedelta(minutes=11) < last <= short.until
    assert risk.frame["under_replicated"].max() == 2
    assert risk.frame["under_replicated"].to_list()[-1] == 0
    assert risk.frame["offline"].max() == 0


def test_partitions_at_risk_are_drawn_of_samples_in_the_last_hour(short: View) -> None:
    found = sampled.at_risk(replace(short, range=RANGES["1h"]))
    assert found is not None
    assert found.step_seconds == fine_step(short.interval_seconds)


def test_of_a_long_time_of_no_samples_and_of_deleted_ones_there_is_none(short: View) -> None:
    long = replace(short, range=between(NOW - timedelta(hours=3), NOW, NOW, 30))
    assert sampled.at_risk(long) is None
    assert sampled.of_groups(short, ["another"]) is None
    three_quarters = replace(short, range=between(START, START + timedelta(minutes=45), NOW, 30))
    assert sampled.of_groups(three_quarters, ["group"]) is None
    assert sampled.of_groups(three_quarters, ["group"], SHORT) is not None
    assert sampled.at_risk(replace(short, now=NOW + timedelta(days=8))) is None
