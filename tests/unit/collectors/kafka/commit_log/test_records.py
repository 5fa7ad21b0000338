"""Records of ``__consumer_offsets``: every version, every type."""

from __future__ import annotations

import struct
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.kafka.commit_log.records import (
    MALFORMED,
    CommitKey,
    Commits,
    decode_key,
    ends_in_commit,
    read_commits,
)
from collectors.kafka.protocol.fetch.record_batches import read_batches
from tests.unit.collectors.kafka.commit_log import building as build

TIME = 1_763_700_000_123


def read(*records: build.Record) -> tuple[Commits, list[int]]:
    commits = Commits()
    for batch in read_batches(build.batch(50, records), 50, "here"):
        read_commits(batch, commits)
    return commits


@pytest.mark.parametrize("metadata", ["", "m", "größer", "x" * 5_000], ids=len)
@pytest.mark.parametrize("topic_id", [None, uuid.UUID(int=7)], ids=["untagged", "topic id"])
@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_versions(version: int, metadata: str, topic_id: uuid.UUID | None) -> None:
    record = build.commit(
        "billing", "orders", 3, 2**40, TIME, version=version, metadata=metadata, topic_id=topic_id
    )
    commits = read(record, record)
    assert commits.offsets == [2**40] * 2
    assert commits.times == [TIME] * 2
    assert commits.log_offsets == [50, 50]
    assert commits.deletions == []
    assert decode_key(commits.keys[0]) == CommitKey("billing", "orders", 3)


def test_a_key_of_type_0_is_a_commit() -> None:
    commits = read((build.commit_key("g", "t", 0, kind=0), build.commit_value(5, TIME)))
    assert commits.offsets == [5]


def test_a_tombstone() -> None:
    commits = read(
        build.commit("g", "t", 0, 5, TIME),
        build.tombstone("g", "t", 0),
        build.commit("g", "t", 1, 6, TIME),
    )
    assert commits.deletions == [1]
    assert len(commits.keys) == len(commits.offsets) == len(commits.times) == 3
    assert commits.offsets[2] == 6


def test_a_version_that_is_not_known_makes_the_old_value_void() -> None:
    commits = read(build.commit("g", "t", 0, 5, TIME, version=5))
    assert commits.deletions == [0]


@pytest.mark.parametrize("kind", range(2, 24))
@pytest.mark.parametrize("value", [b"\x00\x00\x07\x00", None], ids=["value", "tombstone"])
def test_all_other_types_are_stepped_over(kind: int, value: bytes | None) -> None:
    key = struct.pack(">h", kind) + build.string("billing") + build.string("member-1")
    commits = read((key, value), build.commit("billing", "orders", 0, 9, TIME), (key, value))
    assert commits.offsets == [9]


@pytest.mark.parametrize("kind", [24, 200, 256, 257, -1])
def test_types_of_the_future_are_stepped_over(kind: int) -> None:
    commits = read((struct.pack(">h", kind) + build.string("x"), b"\0\0"))
    assert commits.keys == []


@given(
    st.text(max_size=300),
    st.text(max_size=249),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(0, 2**63 - 1),
    st.integers(0, 2**62),
    st.integers(0, 4),
    st.text(max_size=300),
)
def test_what_was_written_is_read(
    group: str, topic: str, partition: int, offset: int, time: int, version: int, metadata: str
) -> None:
    commits = read(
        build.commit(group, topic, partition, offset, time, version=version, metadata=metadata)
    )
    assert decode_key(commits.keys[0]) == CommitKey(group, topic, partition)
    assert (commits.offsets, commits.times) == ([offset], [time])


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x00\x04", id="version alone"),
        pytest.param(build.commit_value(5, TIME)[:20], id="v4 cut off"),
        pytest.param(build.commit_value(5, TIME, 3)[:-1], id="v3 cut off"),
        pytest.param(build.commit_value(5, TIME, 0)[:-1], id="v0 cut off"),
        pytest.param(build.commit_value(5, TIME, 3, "x" * 50)[:30], id="v3 metadata cut off"),
        pytest.param(build.commit_value(5, TIME, 4, "x" * 50)[:30], id="v4 metadata cut off"),
        pytest.param(struct.pack(">hqi", 4, 5, 0) + b"\xff" * 30, id="v4 metadata without end"),
    ],
)
def test_a_value_that_makes_no_sense(value: bytes) -> None:
    with pytest.raises(MALFORMED):
        read((build.commit_key("g", "t", 0), value))


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(b"\x00\x01", id="type alone"),
        pytest.param(build.commit_key("g", "t", 0)[:-1], id="cut off"),
        pytest.param(build.commit_key("g", "t", 0) + b"x", id="too long"),
        pytest.param(b"\x00\x01\xff\xff\x00\x01t\x00\x00\x00\x00", id="null group"),
        pytest.param(b"\x00\x01\x00\x01\xff\x00\x01t\x00\x00\x00\x00", id="no UTF-8"),
    ],
)
def test_a_key_that_makes_no_sense(key: bytes) -> None:
    with pytest.raises(MALFORMED):
        decode_key(key)


def test_records_without_a_key() -> None:
    with pytest.raises(MALFORMED, match="key is missing"):
        read((None, b"x"))


def test_an_error_leaves_columns_of_one_length() -> None:
    commits = Commits()
    data = build.batch(
        0, [build.commit("g", "t", 0, 5, TIME), (build.commit_key("g", "t", 1), b"")]
    )
    (batch,) = read_batches(data, 0, "here")
    with pytest.raises(MALFORMED):
        read_commits(batch, commits)
    assert len(commits.keys) == len(commits.offsets) == len(commits.times) == 1
    assert len(commits.log_offsets) == 1


@pytest.mark.parametrize("committed", [True, False])
def test_the_end_of_a_transaction(committed: bool) -> None:
    (batch,) = read_batches(build.marker(4, 77, committed), 4, "here")
    assert batch.control
    assert batch.producer_id == 77
    assert ends_in_commit(batch) is committed
