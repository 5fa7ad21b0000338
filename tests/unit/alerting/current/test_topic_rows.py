"""Rows of topics: their rates and how even they are."""

from __future__ import annotations

import polars as pl
import pytest

from alerting.current.topics import newest_partitions, topic_rows
from alerting.inputs.frames import Frames
from lake.schemas.current import (
    READERS,
)
from lake.schemas.tables import (
    PARTITIONS,
)
from tests.unit.alerting.current.sample_rows import NOW, rows


def test_an_only_partition_has_all_however_little_arrives() -> None:
    series = (("one", 0), ("two", 0), ("two", 1))
    polls = [
        rows(
            PARTITIONS,
            *({"topic": topic, "partition": number, "log_end": end} for topic, number in series),
            ago=15.0 - end,
        )
        for end in (0, 15)
    ]
    frames = Frames(cluster="c", now=NOW.timestamp(), tables={PARTITIONS.name: pl.concat(polls)})
    found = topic_rows(frames, newest_partitions(frames), READERS.empty).sort("topic")
    one, two = found.select("busiest_ratio", "hot_partitions", "unknown_reason").rows()
    assert one == (1.0, [], None)
    assert two[:2] == (None, None) and "too few" in two[2]


def test_the_rate_of_a_topic_is_of_the_same_minutes_as_those_of_its_groups() -> None:
    """Given a topic that got 10 a second until five minutes ago, and 100 since."""
    polls = [
        rows(
            PARTITIONS,
            *(
                {
                    "topic": "t",
                    "partition": number,
                    "log_end": 10 * (600 - ago) + 90 * max(0, 300 - ago),
                }
                for number in (0, 1)
            ),
            ago=float(ago),
        )
        for ago in range(600, -1, -15)
    ]
    frames = Frames(cluster="c", now=NOW.timestamp(), tables={PARTITIONS.name: pl.concat(polls)})
    (found,) = topic_rows(frames, newest_partitions(frames), READERS.empty).to_dicts()
    assert found["arrival_per_second"] == pytest.approx(200.0)
    assert found["busiest_ratio"] == pytest.approx(0.5)

    seldom = pl.concat([polls[0], polls[-1]])
    frames = Frames(cluster="c", now=NOW.timestamp(), tables={PARTITIONS.name: seldom})
    (found,) = topic_rows(frames, newest_partitions(frames), READERS.empty).to_dicts()
    assert found["arrival_per_second"] == pytest.approx(110.0), "of polls far apart all count"
