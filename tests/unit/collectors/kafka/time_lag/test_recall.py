"""After a restart timelines are what they would be without it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.kafka.time_lag.recall import recalled_times
from collectors.kafka.time_lag.time_lags import TimeLags
from collectors.kafka.time_lag.timeline import OffsetTimeline
from collectors.kafka.time_lag.timelines import RecordResult, Rows
from lake.change_encoding.compact import ChangeEncoder
from lake.schemas.tables import PARTITIONS
from lake.storage.append import conform

SCHEMA = {
    "topic": pl.String(),
    "partition": pl.Int32(),
    "topic_id": pl.String(),
    "log_end": pl.Int64(),
    "observed_at": pl.Datetime("us", "UTC"),
}
COMPLETE = {"stream": pl.lit(None, pl.String()), "row_kind": pl.lit(None, pl.String())}
START = datetime(2026, 11, 20, 8, tzinfo=UTC)


def number(known: TimeLags, topic: str, partition: int) -> Rows:
    is_it = (pl.col("topic") == topic) & (pl.col("partition") == partition)
    return known.partitions.select(is_it.arg_true()).to_series().to_numpy().astype(np.intp)


def oldest(known: TimeLags, topic: str, partition: int) -> tuple[int, float] | None:
    at = number(known, topic, partition)
    if not len(at) or not known.timelines.counts[at[0]]:
        return None
    (offset,), (seconds,) = known.timelines.oldest(at)
    return int(offset), float(seconds)


def times_at(
    known: TimeLags, topic: str, partition: int, offsets: Sequence[int]
) -> list[float | None]:
    wanted = number(known, topic, partition).repeat(len(offsets))
    found = known.timelines.time_at(wanted, np.array(offsets))
    return [None if np.isnan(at) else float(at) for at in found]


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
    found = recalled_times([partitions.cast(SCHEMA).with_columns(**COMPLETE)])
    at = start.timestamp()
    assert sorted(found.partitions["topic"]) == ["anew", "nobody", "orders"]
    assert oldest(found, "orders", 0) == (0, at)
    assert times_at(found, "orders", 0, [150]) == [at + 22.5]
    assert oldest(found, "anew", 0) == (0, at + 30)


Sample = tuple[str | None, int | None]


def one_by_one(samples: list[Sample]) -> OffsetTimeline:
    timeline = OffsetTimeline()
    known: str | None = None
    for poll, (topic_id, end) in enumerate(samples):
        if end is None:
            continue
        at = (START + timedelta(seconds=15 * poll)).timestamp()
        if known not in (None, topic_id):
            timeline.reset()
        known = topic_id
        if timeline.record(end, at) is RecordResult.NON_MONOTONIC:
            timeline.reset()
            timeline.record(end, at)
    return timeline


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
    whole = frame.with_columns(**COMPLETE)
    is_early = whole["observed_at"] < START + timedelta(seconds=300)
    found = recalled_times([whole.filter(is_early), whole.filter(~is_early)])
    for partition, samples in enumerate(series):
        expected = one_by_one(samples)
        assert oldest(found, "t", partition) == expected.oldest
        if expected.oldest is not None:
            times = times_at(found, "t", partition, range(60))
            assert times == [expected.time_at(offset) for offset in range(60)]


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
    rows = pl.concat(written)
    found = recalled_times([rows.sample(fraction=1.0, shuffle=True, seed=1)])
    for partition, one in enumerate(ends):
        expected = OffsetTimeline()
        for poll in range(20):
            expected.record(one[poll], (START + timedelta(seconds=15 * poll)).timestamp())
        assert oldest(found, "t", partition) == expected.oldest
        offsets = range(one[-1] + 1)
        times = times_at(found, "t", partition, offsets)
        assert times == [expected.time_at(offset) for offset in offsets]


def test_a_partition_that_is_gone_is_not_taken_for_one_at_rest() -> None:
    encoder = ChangeEncoder(PARTITIONS)
    written = []
    for poll, partitions in enumerate([2, 2, 1, 1, 2]):
        rows = [
            ("t", partition, "a", 7, START + timedelta(seconds=15 * poll))
            for partition in range(partitions)
        ]
        frame = pl.DataFrame(rows, schema=SCHEMA, orient="row").with_columns(
            pl.lit("c").alias("cluster"), pl.lit(f"{poll}").alias("poll_id")
        )
        written.append(conform(PARTITIONS, encoder.compact("c/kafka", frame)))
    found = recalled_times(written[:4])
    at = START.timestamp()
    assert times_at(found, "t", 0, [7]) == [at + 45]
    assert times_at(found, "t", 1, [7]) == [at + 15]
    assert times_at(recalled_times(written), "t", 1, [7]) == [at + 60]
