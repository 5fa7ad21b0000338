"""What arrived in a cluster and was consumed between its two newest polls."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import polars as pl
import pytest

from alerting.current.flows import Flows, cluster_flows
from alerting.inputs.frames import Frames
from lake.schemas.tables import COLLECTIONS, GROUP_OFFSETS, PARTITIONS
from tests.unit.alerting.current.sample_rows import NOW, rows

Counts = Mapping[str, int | None]
"""Log ends of topics, or committed offsets of groups."""

BEFORE = {"a": 100, "b": 200}


def flows(*polls: tuple[float, Counts | None, Counts | None], polled_ago: float = 0.0) -> Flows:
    """Return what is found of polls so many seconds ago, with log ends and committed offsets."""
    ends = [
        rows(
            PARTITIONS,
            *({"topic": t, "partition": 0, "log_end": n} for t, n in found.items()),
            ago=ago,
        )
        for ago, found, _ in polls
        if found is not None
    ]
    offsets = [
        rows(
            GROUP_OFFSETS,
            *({"group": g, "topic": "t", "partition": 0, "committed": n} for g, n in found.items()),
            ago=ago,
        )
        for ago, _, found in polls
        if found is not None
    ]
    polled = rows(COLLECTIONS, {"interval_seconds": 10.0, "source": "kafka"}, ago=polled_ago)
    tables = {
        PARTITIONS.name: pl.concat([PARTITIONS.empty, *ends]),
        GROUP_OFFSETS.name: pl.concat([GROUP_OFFSETS.empty, *offsets]),
        COLLECTIONS.name: polled,
    }
    frames = Frames(cluster="c", now=NOW.timestamp(), tables=tables)
    return cluster_flows(frames, NOW - timedelta(seconds=polled_ago))


def test_rates_are_those_between_the_two_newest_polls_over_all_topics_and_groups() -> None:
    newest = {"a": 150, "b": 250}
    found = flows(
        (30, {"a": 0, "b": 0}, {"a": 0, "b": 0}), (10, BEFORE, BEFORE), (0, newest, newest)
    )
    assert found == Flows(arrival_per_second=10.0, consumption_per_second=10.0)


@pytest.mark.parametrize(
    ("newest", "per_second"),
    [
        pytest.param({"a": 100, "b": 200}, 0.0, id="nothing came"),
        pytest.param({"a": 150}, 5.0, id="one was deleted"),
        pytest.param({"a": 150, "b": 200, "new": 9000}, 5.0, id="one is new"),
        pytest.param({"a": 150, "b": 7}, 5.0, id="one went back"),
        pytest.param({"a": 1, "b": 7}, None, id="all went back"),
        pytest.param({"a": 150, "b": None}, None, id="one could not be read"),
        pytest.param({}, None, id="none was read"),
    ],
)
def test_what_is_not_known_is_no_fall(newest: Counts, per_second: float | None) -> None:
    assert flows((10, BEFORE, BEFORE), (0, newest, newest)) == Flows(per_second, per_second)


def test_a_counter_that_was_never_known_hides_nothing() -> None:
    found = flows((10, None, {"a": 1, "b": None}), (0, None, {"a": 21, "b": None}))
    assert found == Flows(None, 2.0)


def test_a_poll_that_is_old_or_alone_tells_no_rate_of_now() -> None:
    newest = {"a": 150, "b": 250}
    assert flows((0, newest, newest)) == Flows()
    assert flows((120, BEFORE, BEFORE), (0, newest, newest)) == Flows(), "a gap"
    assert flows((40, BEFORE, BEFORE), (30, newest, newest)) == Flows(), "three polls ago"
    beside = flows((18, BEFORE, BEFORE), (8, newest, newest), polled_ago=0)
    assert beside == Flows(10.0, 10.0), "a source beside it was polled since"
