"""Record batches: what is read, and that broken bytes end in one error and in nothing else."""

from __future__ import annotations

import struct

import pytest
from hypothesis import strategies as st

from collectors.kafka.commit_log.records import MALFORMED, Commits, read_commits
from collectors.kafka.protocol.fetch.record_batches import (
    LARGEST_BATCH,
    CorruptBatchError,
    read_batches,
)
from tests.many_examples import with_examples
from tests.selection import MARK
from tests.unit.collectors.kafka.commit_log import building as build

WHERE = "__consumer_offsets partition 3"
RECORDS = [build.commit("billing", "orders", number, 100 + number, 5_000) for number in range(40)]


def commits_of(data: bytes, position: int = 0) -> Commits:
    commits = Commits()
    for batch in read_batches(data, position, WHERE):
        read_commits(batch, commits)
    return commits


def test_batches_follow_each_other() -> None:
    data = build.batch(10, RECORDS[:3], epoch=4) + build.batch(13, RECORDS[3:4], epoch=5)
    first, second = read_batches(data, 10, WHERE)
    assert (first.base_offset, first.next_offset, first.records, first.leader_epoch) == (
        10,
        13,
        3,
        4,
    )
    assert (second.base_offset, second.next_offset, second.leader_epoch) == (13, 14, 5)
    assert first.producer_id is None
    assert not first.control


def test_compaction_leaves_gaps_and_empty_batches() -> None:
    data = build.batch(10, RECORDS[:2], deltas=[1, 7], last_delta=9)
    data += build.batch(20, [], last_delta=4)
    first, second = read_batches(data, 10, WHERE)
    assert (first.next_offset, first.records) == (20, 2)
    assert (second.next_offset, second.records) == (25, 0)
    assert commits_of(data, 10).offsets == [100, 101]


def test_a_position_within_the_first_batch_gives_the_whole_batch() -> None:
    assert len(commits_of(build.batch(10, RECORDS), 30).keys) == 40


def test_a_batch_that_is_cut_off_is_left_for_the_next_time() -> None:
    first, second = build.batch(0, RECORDS[:5]), build.batch(5, RECORDS[5:])
    for cut in (1, 20, 61, len(second) - 1):
        assert [b.next_offset for b in read_batches(first + second[:cut], 0, WHERE)] == [5]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "raw snappy", "lz4", "zstd"])
def test_compressed(codec: str) -> None:
    many = [build.commit("billing", "orders", n, n, 5_000 + n) for n in range(3_000)]
    data = build.batch(0, many, codec=codec)
    assert len(data) < len(build.batch(0, many))
    commits = commits_of(data)
    assert commits.offsets == list(range(3_000))
    assert commits.times == [5_000 + n for n in range(3_000)]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "raw snappy", "lz4", "zstd"])
def test_compressed_and_broken(codec: str) -> None:
    data = bytearray(build.batch(7, RECORDS, codec=codec))
    data[70:120] = bytes(50)
    with pytest.raises(CorruptBatchError, match=r"partition 3: the record batch at offset 7") as at:
        commits_of(bytes(data), 7)
    assert at.value.resume == 47


def test_a_bomb_is_not_unpacked() -> None:
    data = bytearray(build.batch(0, RECORDS[:1]))[:61]
    bomb = build.compressed(bytes(LARGEST_BATCH + 1), "zstd")
    struct.pack_into(">i", data, 8, 61 - 12 + len(bomb))
    struct.pack_into(">h", data, 21, 4)
    with pytest.raises(CorruptBatchError, match="more than 67108864 bytes"):
        commits_of(bytes(data) + bomb)


def test_an_unknown_codec() -> None:
    with pytest.raises(CorruptBatchError, match="unknown codec 6"):
        commits_of(build.batch(0, RECORDS, attributes=6))


@pytest.mark.parametrize(
    ("at", "layout", "value", "words", "resume"),
    [
        pytest.param(8, ">i", 12, "header makes no sense", None, id="length too small"),
        pytest.param(8, ">i", -1, "header makes no sense", None, id="length negative"),
        pytest.param(23, ">i", -5, "header makes no sense", None, id="last delta negative"),
        pytest.param(0, ">q", -3, "header makes no sense", None, id="offset negative"),
        pytest.param(0, ">q", 2, "holds offsets up to 41", None, id="offset behind"),
        pytest.param(16, ">b", 9, "its format is 9", None, id="format"),
        pytest.param(16, ">b", 1, "before Kafka 0.11", 101, id="old format"),
        pytest.param(57, ">i", 41, "claims 41 records", 140, id="count too large"),
        pytest.param(57, ">i", -1, "claims -1 records", 140, id="count negative"),
    ],
)
def test_a_broken_header(at: int, layout: str, value: int, words: str, resume: int | None) -> None:
    data = bytearray(build.batch(100, RECORDS))
    struct.pack_into(layout, data, at, value)
    with pytest.raises(CorruptBatchError, match=words) as error:
        commits_of(bytes(data), 100)
    assert error.value.resume == resume
    assert str(error.value).startswith(f"{WHERE}: the record batch at offset 100 ")


def only_known_errors_are_raised(data: st.DataObject) -> None:
    codec = data.draw(st.sampled_from([None, "gzip", "snappy", "lz4", "zstd"]))
    whole = bytearray(build.batch(5, RECORDS[:6], codec=codec) + build.marker(11, 9, True))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(whole)))
    try:
        commits_of(bytes(whole[:end]), 5)
    except (CorruptBatchError, *MALFORMED):
        pass


def noise_raises_only_known_errors(data: st.DataObject) -> None:
    try:
        commits_of(data.draw(st.binary(max_size=300)), data.draw(st.integers(0, 2**40)))
    except (CorruptBatchError, *MALFORMED):
        pass


def test_whatever_the_bytes_are_only_known_errors_are_raised() -> None:
    with_examples(only_known_errors_are_raised, 150)


def test_noise() -> None:
    with_examples(noise_raises_only_known_errors, 100)


@MARK
@pytest.mark.parametrize("part", range(10))
def test_very_many_broken_batches(part: int, ten_with_all: int) -> None:
    with_examples(only_known_errors_are_raised, 600 * ten_with_all, part)
    with_examples(noise_raises_only_known_errors, 400 * ten_with_all, part)
