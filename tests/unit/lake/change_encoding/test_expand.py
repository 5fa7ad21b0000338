"""Rows that are left out come back: what is compacted and expanded is what was there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.settings import LakeSettings
from lake.change_encoding.compact import ChangeEncoder
from lake.change_encoding.expand import (
    HEARTBEAT,
    REWRITTEN_AFTER,
    TOMBSTONE,
    expand,
    expand_next,
    still_needed,
)
from lake.schemas.tables import GROUP_OFFSETS, PARTITIONS
from lake.storage.append import conform
from lake.storage.store import Lake
from tests.support import double

START = datetime(2026, 1, 5, 23, 52, tzinfo=UTC)
KEY = ["cluster", "observed_at", "poll_id", "group", "topic", "partition"]

EMPTY = pl.DataFrame(schema=GROUP_OFFSETS.polars_schema)

# A poll: seconds since the one before, who holds the partitions, and a value for each partition.
POLLS = st.lists(
    st.tuples(
        st.sampled_from([15, 15, 15, 60, 200, 301, 901, 4000]),
        st.sampled_from(["m1", "m1", "m2", None]),
        st.dictionaries(st.integers(0, 3), st.sampled_from([None, 1, 2]), max_size=4),
    ),
    min_size=1,
    max_size=30,
)


def poll(
    at: datetime, lags: dict[int, int | None], cluster: str = "a", member: str | None = "m1"
) -> pl.DataFrame:
    rows = [
        {
            "cluster": cluster,
            "observed_at": at,
            "poll_id": f"{cluster}{at.timestamp()}",
            "group": "g",
            "topic": "t",
            "partition": partition,
            "lag": lag,
            "member_id": member if partition < 2 else "other",
            "unknown_reason": "no leader" if lag is None else None,
        }
        for partition, lag in lags.items()
    ]
    return conform(
        GROUP_OFFSETS,
        pl.DataFrame(rows, schema_overrides={"lag": pl.Int64, "member_id": pl.String}),
    )


def polls_of(drawn: list[tuple[int, str | None, dict[int, int | None]]]) -> list[pl.DataFrame]:
    at, found = START, []
    for seconds, member, lags in drawn:
        at += timedelta(seconds=seconds)
        if lags:
            found.append(poll(at, lags, member=member))
    return found


def same(found: pl.DataFrame, wanted: pl.DataFrame) -> bool:
    return found.drop("stream").sort(KEY).equals(wanted.drop("stream").sort(KEY))


@settings(max_examples=60, deadline=None)
@given(drawn=POLLS, lost=st.sets(st.integers(0, 29)), cut=st.integers(0, 4000), twice=st.booleans())
def test_what_is_compacted_and_expanded_is_what_was_there(
    drawn: list[tuple[int, str | None, dict[int, int | None]]],
    lost: set[int],
    cut: int,
    twice: bool,
) -> None:
    """Whatever changes, comes, goes, pauses, is lost on its way or appended twice; and a reader
    that begins in the middle sees the same."""
    encoder = ChangeEncoder(GROUP_OFFSETS)
    kept, written = [EMPTY], [EMPTY]
    for number, rows in enumerate(polls_of(drawn)):
        encoded = encoder.compact("a", rows)
        if number in lost:
            encoder.forget("a")
            continue
        kept.append(rows)
        written.append(conform(GROUP_OFFSETS, encoded))
    everything = pl.concat([*written, *written] if twice else written)
    wanted = pl.concat(kept)
    assert same(expand(GROUP_OFFSETS, everything), wanted)
    since = START + timedelta(seconds=cut)
    later = pl.col("observed_at") >= since
    near = everything.filter(pl.col("observed_at") >= since - REWRITTEN_AFTER)
    assert same(expand(GROUP_OFFSETS, near, since=since), wanted.filter(later))
    before = everything.filter(~later)
    assert same(expand(GROUP_OFFSETS, before, until=since), wanted.filter(~later))


@settings(max_examples=40, deadline=None)
@given(drawn=POLLS)
def test_a_poll_follows_from_the_one_before(
    drawn: list[tuple[int, str | None, dict[int, int | None]]],
) -> None:
    encoder = ChangeEncoder(GROUP_OFFSETS)
    before, run = EMPTY, None
    for rows in polls_of(drawn):
        written = conform(GROUP_OFFSETS, encoder.compact("a", rows))
        if written["stream"][0] == run:
            before = expand_next(GROUP_OFFSETS, before, written)
        else:
            before, run = expand(GROUP_OFFSETS, written), written["stream"][0]
        assert same(before, rows)


def test_an_idle_partition_is_written_at_the_start_and_every_quarter_of_an_hour() -> None:
    encoder = ChangeEncoder(GROUP_OFFSETS)
    times: dict[int, list[int]] = {0: [], 1: []}
    start = START.replace(hour=1)
    for seconds in range(0, 2 * 3600, 15):
        lags: dict[int, int | None] = {0: 7, 1: 7}
        rows = encoder.compact("a", poll(start + timedelta(seconds=seconds), lags))
        assert rows.filter(pl.col("row_kind") == HEARTBEAT).height == 1
        for partition in rows["partition"].drop_nulls():
            times[partition].append(seconds)
    for written in times.values():
        assert written[0] == 0
        assert len(written) <= 10
        pairs = pairwise(written)
        assert max(after - before for before, after in pairs) <= REWRITTEN_AFTER.total_seconds()


def test_a_date_begins_with_a_complete_poll_and_what_is_gone_is_said() -> None:
    encoder = ChangeEncoder(GROUP_OFFSETS)
    evening = START.replace(hour=23, minute=59, second=50)
    encoder.compact("a", poll(evening, {0: 1, 1: 1}))
    gone = encoder.compact("a", poll(evening + timedelta(seconds=5), {0: 1}))
    assert gone["row_kind"].to_list() == [HEARTBEAT, TOMBSTONE]
    morning = encoder.compact("a", poll(evening + timedelta(seconds=15), {0: 1}))
    assert morning["partition"].to_list() == [None, 0]
    assert morning["stream"][0] != gone["stream"][0]


def test_two_collectors_of_one_cluster_do_not_mix() -> None:
    """The second sees a value that the first never had; neither fills in the other's polls."""
    first, second = ChangeEncoder(GROUP_OFFSETS), ChangeEncoder(GROUP_OFFSETS)
    wanted, written = [], []
    for seconds, encoder, lag in ((0, first, 1), (5, second, 2), (15, first, 1), (20, second, 2)):
        rows = poll(START + timedelta(seconds=seconds), {0: lag})
        wanted.append(rows)
        written.append(conform(GROUP_OFFSETS, encoder.compact("a", rows)))
    assert [rows.height for rows in written] == [2, 2, 1, 1]
    assert same(expand(GROUP_OFFSETS, pl.concat(written)), pl.concat(wanted))


def test_a_commit_of_the_same_offset_writes_nothing() -> None:
    encoder = ChangeEncoder(GROUP_OFFSETS)
    for seconds, rows in ((0, 2), (15, 1)):
        at = START + timedelta(seconds=seconds)
        committed = poll(at, {0: 1}).with_columns(pl.lit(at).alias("committed_at"))
        assert encoder.compact("a", committed).height == rows


def test_a_new_holder_is_a_change() -> None:
    encoder = ChangeEncoder(GROUP_OFFSETS)
    written = [
        encoder.compact("a", poll(START + timedelta(seconds=seconds), {0: 7}, member=member))
        for seconds, member in ((0, "m1"), (15, "m1"), (30, "m2"))
    ]
    assert [rows.height for rows in written] == [2, 1, 2]
    assert written[2]["member_id"].to_list() == [None, "m2"]


def test_what_is_kept_of_the_time_before_is_enough() -> None:
    encoder = ChangeEncoder(GROUP_OFFSETS)
    polls = [poll(START + timedelta(seconds=15 * n), {0: n, 1: 7}) for n in range(8)]
    everything = pl.concat(conform(GROUP_OFFSETS, encoder.compact("a", rows)) for rows in polls)
    since = START + timedelta(seconds=60)
    kept = still_needed(GROUP_OFFSETS, everything, since)
    assert kept.height < everything.height
    assert same(expand(GROUP_OFFSETS, kept, since=since), pl.concat(polls[4:]))


def test_lists_are_compared() -> None:
    encoder = ChangeEncoder(PARTITIONS)
    counts = []
    for seconds, replicas in ((0, [1, 2]), (15, [1, 2]), (30, [1])):
        rows = pl.DataFrame(
            {
                "cluster": ["a"],
                "observed_at": [START + timedelta(seconds=seconds)],
                "poll_id": [str(seconds)],
                "topic": ["t"],
                "partition": [0],
                "in_sync_replicas": [replicas],
            },
            schema_overrides={"partition": pl.Int32, "in_sync_replicas": pl.List(pl.Int32)},
        )
        counts.append(encoder.compact("a", rows).height)
    assert counts == [2, 1, 2]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    encoder = ChangeEncoder(GROUP_OFFSETS)
    for seconds in range(0, 120, 15):
        lags: dict[int, int | None] = {0: 7, 1: seconds}
        rows = poll(START + timedelta(seconds=seconds), lags)
        lake.append(GROUP_OFFSETS, encoder.compact("a", rows))
    # Filled in from elsewhere: complete by itself, and no part of a stream.
    lake.append(GROUP_OFFSETS, poll(START + timedelta(seconds=20), {0: 99}))
    return lake


def test_a_read_fills_in_what_was_left_out(lake: Lake) -> None:
    assert lake.scan(GROUP_OFFSETS, cluster="a").collect().height <= 8 + 8 + 2 + 1  # of 8 + 17
    rows = lake.read(GROUP_OFFSETS, cluster="a")
    assert rows.height == 17
    assert rows["observed_at"].is_sorted()
    assert rows["row_kind"].null_count() == 17
    assert rows.schema == GROUP_OFFSETS.polars_schema
    since = START + timedelta(seconds=30)
    late = lake.read(
        GROUP_OFFSETS, pl.col("partition") == 0, since=since, columns=["observed_at", "lag"]
    )
    assert late["lag"].to_list() == [7] * 6
    assert late["observed_at"].min() == since
    assert lake.read(GROUP_OFFSETS, pl.col("lag") == 99).height == 1
    assert lake.read(GROUP_OFFSETS, pl.col("lag") == 7, pl.col("partition") == 0).height == 8


def test_rows_that_are_stored_twice_stand_once(lake: Lake) -> None:
    before = lake.read(GROUP_OFFSETS)
    double(lake, GROUP_OFFSETS)
    assert same(lake.read(GROUP_OFFSETS), before)


def test_the_newest_poll_is_complete(lake: Lake) -> None:
    now = START + timedelta(seconds=110)
    within = timedelta(minutes=5)
    rows = lake.latest(GROUP_OFFSETS, cluster="a", now=now, within=within)
    assert rows.sort("partition")["lag"].to_list() == [7, 105]
    one = lake.latest(GROUP_OFFSETS, pl.col("lag") == 99, cluster="a", now=now, within=within)
    assert one["observed_at"].to_list() == [START + timedelta(seconds=20)]
