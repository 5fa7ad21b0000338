"""One partition of the log: last commits, rates, transactions, what is forgotten."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.kafka.commit_log.partition import (
    COMMITS_SCHEMA,
    MARK_EVERY_SECONDS,
    SHORTEST_WINDOW_SECONDS,
    WINDOW_SECONDS,
    PartitionCommits,
)
from collectors.kafka.protocol.fetch.record_batches import CorruptBatchError
from tests.many_examples import with_examples
from tests.selection import MARK
from tests.unit.collectors.kafka.commit_log import building as build

TIME = 1_763_700_000_000


class Log:
    """A partition and its log, which grows by what is appended."""

    def __init__(self) -> None:
        self.commits = PartitionCommits(3)
        self.commits.position = 0
        self.end = 0

    def append(self, *records: build.Record, at: float = 0.0, producer: int | None = None) -> None:
        if producer is None:
            data = build.batch(self.end, records)
        else:
            data = build.transactional(self.end, producer, records)
        self.end += len(records)
        self.commits.feed(data, at)

    def finish(self, producer: int, committed: bool) -> None:
        self.commits.feed(build.marker(self.end, producer, committed), 0.0)
        self.end += 1

    def reported(self) -> dict[tuple[str, int], int]:
        """Return the last committed offset by group and partition."""
        return {(row["group"], row["partition"]): row["log_committed"] for row in self.rows()}

    def rows(self) -> list[dict[str, Any]]:
        if self.commits.ended_at is None:
            self.commits.reached_end(0.0)
        return self.commits.frame().to_dicts()

    def rate(self) -> float | None:
        (row,) = self.rows()
        rate: float | None = row["commits_per_second"]
        return rate


def commit(offset: int, group: str = "billing", partition: int = 0) -> build.Record:
    return build.commit(group, "orders", partition, offset, TIME + offset)


def test_nothing_is_told_before_the_end_was_reached() -> None:
    log = Log()
    log.append(commit(5))
    assert log.commits.frame().is_empty()
    assert log.commits.frame().schema == COMMITS_SCHEMA
    log.commits.reached_end(0.0)
    assert log.commits.frame().height == 1
    assert log.commits.frame().schema == COMMITS_SCHEMA


def test_the_last_commit_of_each_key() -> None:
    log = Log()
    log.append(commit(5), commit(1, partition=1), commit(6), commit(2, "shipping"))
    log.append(commit(7))
    assert log.reported() == {("billing", 0): 7, ("billing", 1): 1, ("shipping", 0): 2}
    (row,) = (row for row in log.rows() if row["group"] == "shipping")
    assert row["committed_at"] == datetime.fromtimestamp(TIME / 1000, UTC) + timedelta(
        milliseconds=2
    )
    assert row["topic"] == "orders"


@pytest.mark.parametrize("time", [-1, 2**62], ids=["none", "beyond all clocks"])
def test_a_time_that_makes_no_sense_is_unknown(time: int) -> None:
    log = Log()
    log.append(build.commit("g", "t", 0, 5, time), build.commit("g", "t", 1, 6, TIME))
    times = {row["partition"]: row["committed_at"] for row in log.rows()}
    assert times.get(0) is None
    assert times[1] == datetime.fromtimestamp(TIME / 1000, UTC)


def test_tombstones_forget_and_a_later_commit_is_known_again() -> None:
    log = Log()
    log.append(commit(5), commit(6, partition=1), build.tombstone("billing", "orders", 0))
    assert log.reported() == {("billing", 1): 6}
    log.append(commit(9), build.tombstone("billing", "orders", 1))
    assert log.reported() == {("billing", 0): 9}
    assert len(log.commits) == 1


def test_memory_is_bounded_by_the_groups_that_exist() -> None:
    log = Log()
    for turn in range(50):
        records = [commit(1, f"group-{turn}", partition) for partition in range(20)]
        log.append(*records)
        log.append(*(build.tombstone(f"group-{turn}", "orders", p) for p in range(20)))
    log.append(commit(8, "last"))
    assert len(log.commits) == 1
    assert log.commits._used <= 40  # noqa: SLF001 (the arrays' size is what is tested)
    assert log.reported() == {("last", 0): 8}


def test_a_transaction_counts_when_it_commits() -> None:
    log = Log()
    log.append(commit(3))
    log.append(commit(9), producer=1)
    assert log.reported() == {("billing", 0): 3}
    log.finish(1, committed=True)
    assert log.reported() == {("billing", 0): 9}


def test_an_aborted_transaction_never_counts() -> None:
    log = Log()
    log.append(commit(3))
    log.append(commit(9), producer=1)
    log.append(commit(9, "other"), producer=1)
    log.finish(1, committed=False)
    log.finish(1, committed=True)  # the producer's next one, empty here
    assert log.reported() == {("billing", 0): 3}


def test_an_open_transaction_holds_back_nobody_else() -> None:
    log = Log()
    log.append(commit(9, "stuck"), producer=1)
    log.append(commit(4))
    log.append(commit(5, "copier"), producer=2)
    log.finish(2, committed=True)
    assert log.reported() == {("billing", 0): 4, ("copier", 0): 5}


def test_what_came_later_in_the_log_wins_over_a_transaction_that_ends_later() -> None:
    log = Log()
    log.append(commit(10), commit(1, partition=1), producer=1)
    log.append(commit(12))
    log.finish(1, committed=True)
    assert log.reported() == {("billing", 0): 12, ("billing", 1): 1}


@pytest.mark.parametrize("order", [(1, 2), (2, 1)], ids=["older first", "younger first"])
def test_of_two_transactions_the_later_record_wins(order: tuple[int, int]) -> None:
    log = Log()
    log.append(commit(10), producer=1)
    log.append(commit(12), producer=2)
    for producer in order:
        log.finish(producer, committed=True)
    assert log.reported() == {("billing", 0): 12}


def test_a_group_that_was_deleted_does_not_come_back_with_an_old_transaction() -> None:
    log = Log()
    log.append(commit(3), commit(1, "other"))
    log.append(commit(9), commit(2, "other"), producer=1)
    log.append(build.tombstone("billing", "orders", 0))
    log.finish(1, committed=True)
    assert log.reported() == {("other", 0): 2}


def test_a_tombstone_spares_a_transaction_after_it() -> None:
    log = Log()
    log.append(commit(3))
    data = build.batch(1, [build.tombstone("billing", "orders", 0)])
    data += build.transactional(2, 1, [commit(9)]) + build.marker(3, 1, True)
    log.commits.feed(data, 0.0)
    assert log.reported() == {("billing", 0): 9}


def test_the_rate_of_a_key_that_was_there_before() -> None:
    log = Log()
    log.append(*(commit(n) for n in range(1_000)))  # long ago: tells no rate
    log.commits.reached_end(100.0)
    assert log.rate() is None
    for second in range(1, 121):
        log.append(commit(2_000 + second), commit(3_000 + second), at=100.0 + second)
        log.commits.reached_end(100.0 + second)
        if second == SHORTEST_WINDOW_SECONDS - 1:
            assert log.rate() is None
    assert log.rate() == pytest.approx(2.0)


def test_the_rate_covers_the_window() -> None:
    log = Log()
    log.append(commit(0))
    log.commits.reached_end(0.0)
    for second in range(1, 1_001):  # four a second, then none
        if second <= 500:
            log.append(*(commit(second * 4 + n) for n in range(4)), at=float(second))
        log.commits.reached_end(float(second))
        if second == 500:
            assert log.rate() == pytest.approx(4.0)
        if second == 650:
            window = log.rate()
            assert window is not None
            assert 4 * 150 / (WINDOW_SECONDS + MARK_EVERY_SECONDS) <= window <= 4 * 180 / 300
    assert log.rate() == 0.0


def test_the_rate_of_a_new_key_counts_from_its_first_commit() -> None:
    log = Log()
    log.commits.reached_end(0.0)
    log.commits.reached_end(200.0)
    for turn in range(5):  # every ten seconds
        log.append(commit(turn), at=200.0 + 10 * turn)
        log.commits.reached_end(200.0 + 10 * turn)
    assert log.rate() == pytest.approx(0.1)


def test_the_rate_of_a_slot_that_changed_hands() -> None:
    log = Log()
    log.append(*(commit(n) for n in range(1_000)))
    log.commits.reached_end(0.0)
    log.append(*(commit(n) for n in range(500)), at=20.0)
    log.append(build.tombstone("billing", "orders", 0), commit(1, "young"), at=40.0)
    log.commits.reached_end(40.0)
    log.append(commit(2, "young"), at=50.0)
    log.commits.reached_end(80.0)
    assert log.rate() == pytest.approx(1 / 40)


def test_a_pause_of_the_reader_makes_no_burst() -> None:
    log = Log()
    log.append(commit(0))
    log.commits.reached_end(0.0)
    log.append(*(commit(n) for n in range(600)), at=600.0)  # after ten minutes without an answer
    log.commits.reached_end(600.0)
    assert log.rate() == pytest.approx(1.0)


def test_a_corrupt_batch_is_stepped_over_and_what_was_known_is_forgotten() -> None:
    log = Log()
    log.append(commit(5))
    log.commits.reached_end(0.0)
    broken = bytearray(build.batch(1, [commit(6), commit(7)]))
    broken[61] = 0xFF  # the length of the first record
    rest = build.batch(3, [commit(8, "other")])
    with pytest.raises(CorruptBatchError, match="partition 3: the record batch at offset 1 "):
        log.commits.feed(bytes(broken) + rest, 1.0)
    assert log.reported() == {}
    assert log.commits.position == 3
    log.commits.feed(rest, 2.0)
    log.commits.reached_end(2.0)
    assert log.reported() == {("other", 0): 8}


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(b"\x00\x01\x00\x01\xff\x00\x01t\x00\x00\x00\x00", id="no text"),
        pytest.param(b"\x00\x01", id="type alone"),
        pytest.param(b"\x00\x01\x00\x01g", id="no topic"),
    ],
)
def test_a_key_that_makes_no_sense_is_stepped_over(key: bytes) -> None:
    log = Log()
    data = build.batch(0, [commit(1), (key, build.commit_value(5, TIME))])
    with pytest.raises(CorruptBatchError, match="offset 0 "):
        log.commits.feed(data + build.batch(2, [commit(2)]), 0.0)
    assert log.commits.position == 3


def test_a_batch_without_an_end_leaves_the_position() -> None:
    log = Log()
    log.append(commit(5))
    broken = bytearray(build.batch(1, [commit(6)]))
    struct.pack_into(">i", broken, 8, 3)
    with pytest.raises(CorruptBatchError) as error:
        log.commits.feed(bytes(broken), 1.0)
    assert error.value.resume is None
    assert log.commits.position == 1


def test_a_restart_forgets_everything() -> None:
    log = Log()
    log.append(commit(5))
    log.commits.reached_end(0.0)
    log.commits.restart()
    assert log.commits.position is None
    assert log.commits.ended_at is None
    assert len(log.commits) == 0


def broken_bytes_raise_nothing_else(data: st.DataObject) -> None:
    log = Log()
    records = [commit(n, partition=n % 3) for n in range(5)]
    whole = bytearray(
        build.batch(0, records)
        + build.transactional(5, 1, records)
        + build.batch(10, [build.tombstone("billing", "orders", 1)])
        + build.marker(11, 1, True)
    )
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        log.commits.feed(bytes(whole), 0.0)
    except CorruptBatchError as error:
        assert "partition 3" in str(error)
    log.rows()


def test_broken_bytes_raise_nothing_else() -> None:
    with_examples(broken_bytes_raise_nothing_else, 120)


@MARK
@pytest.mark.parametrize("part", range(10))
def test_very_many_broken_bytes(part: int, ten_with_all: int) -> None:
    with_examples(broken_bytes_raise_nothing_else, 500 * ten_with_all, part)


Step = tuple[str, int, int]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["commit", "tombstone", "in transaction", "commit end", "abort end"]),
            st.integers(0, 3),  # key
            st.integers(1, 2),  # producer
        ),
        max_size=40,
    ),
    st.integers(1, 6),
)
def test_it_equals_a_simple_model(steps: list[Step], batches_a_fetch: int) -> None:
    log, model = Log(), Model()
    data, waiting = b"", 0
    for number, (what, key, producer) in enumerate(steps):
        record = commit(number, partition=key)
        if what == "commit":
            data += build.batch(number, [record])
        elif what == "tombstone":
            data += build.batch(number, [build.tombstone("billing", "orders", key)])
        elif what == "in transaction":
            data += build.transactional(number, producer, [record])
        else:
            data += build.marker(number, producer, what == "commit end")
        model.step(number, what, key, producer)
        waiting += 1
        if waiting == batches_a_fetch:
            log.commits.feed(data, 0.0)
            data, waiting = b"", 0
    log.commits.feed(data, 0.0)
    assert {partition: offset for (_, partition), offset in log.reported().items()} == model.last


class Model:
    """The coordinator's rule, record by record: the greatest log offset wins when it counts."""

    def __init__(self) -> None:
        self.last: dict[int, int] = {}
        self.open: dict[int, dict[int, int]] = {}

    def step(self, number: int, what: str, key: int, producer: int) -> None:
        if what == "commit":
            self.last[key] = number
        elif what == "tombstone":
            self.last.pop(key, None)
            for pending in self.open.values():
                pending.pop(key, None)
        elif what == "in transaction":
            self.open.setdefault(producer, {})[key] = number
        else:
            for each, at in self.open.pop(producer, {}).items():
                if what == "commit end" and at > self.last.get(each, -1):
                    self.last[each] = at
