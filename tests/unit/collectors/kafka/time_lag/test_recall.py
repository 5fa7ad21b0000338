"""After a restart timelines are what they would be without it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import accumulate

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.kafka.time_lag.partition_times import TIMELINE, PartitionTimes
from collectors.kafka.time_lag.recall import recalled_times
from lake.change_encoding.compact import ChangeEncoder
from lake.change_encoding.expand import poll_ranges
from lake.schemas.tables import PARTITIONS
from lake.storage.append import conform

SCHEMA = {
    "topic": pl.String(),
    "partition": pl.Int32(),
    "topic_id": pl.String(),
    "log_end": pl.Int64(),
    "observed_at": pl.Datetime("us", "UTC"),
}
START = datetime(2026, 11, 20, 8, tzinfo=UTC)


def at_one_poll(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(pl.col("observed_at").alias("last_at"))


def test_after_a_restart_timelines_go_on() -> None:
    start = datetime(2026, 11, 20, 8, tzinfo=UTC)
    partitions = pl.DataFrame(
        [
            (topic, 0, topic_id, end, start + timedelta(seconds=15 * poll))
            for poll in range(4)
            for topic, topic_id, end in (
                ("orders", "a", 100 * poll),
                ("anew", "b" if poll < 2 else "c", 50 * (poll % 2)),
                ("nobody", "d", 1),
            )
        ],
        schema=["topic", "partition", "topic_id", "log_end", "observed_at"],
        orient="row",
    ).sample(fraction=1.0, shuffle=True, seed=1)
    read = pl.DataFrame({"topic": ["orders", "anew"], "partition": [0, 0]})
    found = recalled_times(at_one_poll(partitions), read)
    assert set(found) == {("orders", 0), ("anew", 0)}
    at = start.timestamp()
    assert found["orders", 0].time_at(150, at + 60) == (at + 22.5, TIMELINE)
    assert found["anew", 0].topic_id == "c"
    assert found["anew", 0].timeline.oldest == (0, at + 30)


Sample = tuple[str | None, int | None]


def one_by_one(samples: list[Sample]) -> PartitionTimes | None:
    times: PartitionTimes | None = None
    for poll, (topic_id, end) in enumerate(samples):
        if end is not None:
            times = times or PartitionTimes(topic_id=topic_id)
            times.record(end, (START + timedelta(seconds=15 * poll)).timestamp(), topic_id)
    return times


samples_of_one = st.lists(
    st.tuples(st.sampled_from(["a", "a", "a", "b"]), st.one_of(st.integers(0, 6), st.none())),
    max_size=75,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(samples_of_one, min_size=1, max_size=4), st.booleans())
def test_it_equals_taking_in_one_sample_after_the_other(
    series: list[list[Sample]], grows: bool
) -> None:
    if grows:  # as most logs do
        series = [
            [(id_, end and end // 3 + poll // 2) for poll, (id_, end) in enumerate(samples)]
            for samples in series
        ]
    rows = [
        ("t", partition, topic_id, end, START + timedelta(seconds=15 * poll))
        for partition, samples in enumerate(series)
        for poll, (topic_id, end) in enumerate(samples)
    ]
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    read = frame.select("topic", "partition")
    found = recalled_times(at_one_poll(frame), read)
    for partition, samples in enumerate(series):
        expected = one_by_one(samples)
        times = found.get(("t", partition))
        if expected is None:
            assert times is None
            continue
        assert times is not None
        assert times.topic_id == expected.topic_id
        assert len(times.timeline) == len(expected.timeline)
        assert times.timeline.oldest == expected.timeline.oldest
        now = START.timestamp() + 2000
        for offset in range(60):
            assert times.time_at(offset, now) == expected.time_at(offset, now)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=20, max_size=20), min_size=1, max_size=3))
def test_it_is_the_same_from_rows_that_stand_for_several_polls(grown: list[list[int]]) -> None:
    encoder = ChangeEncoder(PARTITIONS)
    ends = [list(accumulate(one)) for one in grown]
    written = []
    for poll in range(20):
        rows = [
            ("t", partition, "a", one[poll], START + timedelta(seconds=15 * poll))
            for partition, one in enumerate(ends)
        ]
        frame = pl.DataFrame(rows, schema=SCHEMA, orient="row").with_columns(
            pl.lit("c").alias("cluster"), pl.lit(f"{poll}").alias("poll_id")
        )
        written.append(conform(PARTITIONS, encoder.compact("c/kafka", frame)))
    since = START + timedelta(seconds=30)
    columns = ["topic", "partition", "topic_id", "log_end"]
    rows = poll_ranges(PARTITIONS, pl.concat(written), columns, since=since)
    found = recalled_times(rows, rows.select("topic", "partition"))
    for partition, one in enumerate(ends):
        expected = PartitionTimes(topic_id="a")
        for poll in range(2, 20):
            at = START + timedelta(seconds=15 * poll)
            expected.record(one[poll], at.timestamp(), "a")
        timeline = found["t", partition].timeline
        assert len(timeline) == len(expected.timeline)
        assert timeline.oldest == expected.timeline.oldest
        for offset in range(one[-1] + 1):
            assert timeline.time_at(offset) == expected.timeline.time_at(offset)
