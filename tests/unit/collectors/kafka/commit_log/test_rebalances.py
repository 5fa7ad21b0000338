"""Generations of groups: every version of their records, and what differs between two of them."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import pytest
from hypothesis import strategies as st

from collectors.kafka.commit_log.partition import PartitionCommits
from collectors.kafka.commit_log.rebalances import Rebalance
from tests.many_examples import with_examples
from tests.selection import MARK
from tests.unit.collectors.kafka.commit_log import building as build
from tests.unit.collectors.kafka.commit_log.building import string, uvarint

Texts = tuple[str, ...]


def compact(text: str | bytes | None) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return b"\0" if data is None else uvarint(len(data) + 1) + data


def key(kind: int, group: str, member: str | None = None) -> bytes:
    return struct.pack(">h", kind) + string(group) + (b"" if member is None else string(member))


def subscription(topics: Texts) -> bytes:
    listed = b"".join(map(string, topics))
    return struct.pack(">hi", 3, len(topics)) + listed + struct.pack(">i", -1)


def classic(
    generation: int,
    members: Mapping[str, Texts],
    *,
    protocol: str | None = "range",
    version: int = 4,
    instances: Mapping[str, str] | None = None,
    leader: str | None = None,
) -> build.Record:
    """Return a generation; members are ids with the topics that they subscribe to."""

    def text(value: str | None) -> bytes:
        if version >= 4:
            return compact(value)
        return struct.pack(">h", -1) if value is None else string(value)

    def data(value: bytes) -> bytes:
        return compact(value) if version >= 4 else struct.pack(">i", len(value)) + value

    value = struct.pack(">h", version) + text("consumer") + struct.pack(">i", generation)
    value += text(protocol) + text(leader or next(iter(members), None))
    if version >= 2:
        value += struct.pack(">q", 5)
    value += uvarint(len(members) + 1) if version >= 4 else struct.pack(">i", len(members))
    for member, topics in members.items():
        value += text(member)
        if version >= 3:
            value += text((instances or {}).get(member))
        value += text(f"client-{member}") + text("/10.0.0.7")
        if version >= 1:
            value += struct.pack(">i", 300_000)
        value += struct.pack(">i", 45_000) + data(subscription(topics)) + data(b"assigned")
        if version >= 4:
            value += b"\1\0\2ab"  # a tag that is not known
    return key(2, "billing"), value + (b"\0" if version >= 4 else b"")


def epoch(kind: int, number: int) -> build.Record:
    return key(kind, "billing"), struct.pack(">hi", 0, number) + b"\0"


def member(kind: int, id_: str, topics: Texts = ("orders",), pattern: str | None = None) -> bytes:
    value = struct.pack(">h", 0)
    if kind != 10:
        value += compact(None)
    value += compact("rack") + compact(f"client-{id_}") + compact("/10.0.0.7")
    if kind == 19:
        return value + struct.pack(">ii", 60_000, 1) + b"\0"
    value += uvarint(len(topics) + 1) + b"".join(map(compact, topics))
    return value if kind == 10 else value + compact(pattern) + struct.pack(">i", 60_000) + b"\0\0"


class Log:
    """A partition, and its log, which grows by what is appended."""

    def __init__(self) -> None:
        self.commits = PartitionCommits(3)
        self.commits.position = 0

    def append(self, *records: build.Record, epoch: int = 0) -> list[Rebalance]:
        position = self.commits.position
        assert position is not None
        self.commits.feed(build.batch(position, records, epoch=epoch), 0.0)
        found = list(self.commits.groups.found)
        self.commits.groups.found.clear()
        return found


ORDERS = ("orders",)


@pytest.mark.parametrize("version", range(5))
def test_a_member_leaves_and_another_one_joins(version: int) -> None:
    log = Log()
    both = {"a": ORDERS, "b": ORDERS}
    assert log.append(classic(7, both, version=version)) == []  # nobody knows what was before
    (found,) = log.append(classic(8, {"a": ORDERS, "c": ORDERS}, version=version))
    assert found.reason == "client-b at 10.0.0.7 left; client-c at 10.0.0.7 joined"
    assert (found.generation_before, found.generation) == (7, 8)
    assert (found.members_before, found.members, found.joined, found.left) == (2, 2, 1, 1)
    assert found.session_timeout_seconds == 45
    assert found.rebalance_timeout_seconds == (None if version == 0 else 300)
    assert (found.protocol, found.log_offset) == ("range", 1)
    assert found.rebalanced_at.timestamp() == 1


def test_a_group_begins_and_ends() -> None:
    log = Log()
    (first,) = log.append(classic(1, {"a": ORDERS}))
    assert (first.members_before, first.reason) == (0, "client-a at 10.0.0.7 joined")
    (last,) = log.append(classic(2, {}, protocol=None))
    assert (last.members, last.reason) == (0, "client-a at 10.0.0.7 left")
    assert last.session_timeout_seconds == 45  # of those that left
    assert log.append((key(2, "billing"), None)) == []
    assert log.append(classic(9, {"a": ORDERS})) == []


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        pytest.param(
            classic(3, {"a": ORDERS}),
            classic(4, {"a": ORDERS}),
            "the same members: one joined again, or the partitions of its topics changed",
            id="nothing to see",
        ),
        pytest.param(
            classic(3, {"a": ORDERS}),
            classic(4, {"a": ("orders", "returns")}),
            "client-a at 10.0.0.7 subscribed to other topics",
            id="subscription",
        ),
        pytest.param(
            classic(3, {"a": ORDERS}),
            classic(4, {"a": ORDERS}, protocol="cooperative-sticky"),
            "the assignor changed from range to cooperative-sticky",
            id="assignor",
        ),
        pytest.param(
            classic(3, {"a": ORDERS, "b": ORDERS}),
            classic(4, {"a": ORDERS, "b": ORDERS, "c": ORDERS}, leader="b"),
            "client-c at 10.0.0.7 joined; the leader changed",
            id="leader",
        ),
        pytest.param(
            classic(3, {"a": ORDERS}),
            classic(6, {"a": ORDERS}),
            "generations from 4 to 5 are not in the log",
            id="compacted",
        ),
        pytest.param(
            classic(3, {"a": ORDERS}, instances={"a": "till-1"}),
            classic(3, {"a2": ORDERS}, instances={"a2": "till-1"}),
            "till-1 came back",
            id="static",
        ),
        pytest.param(
            classic(3, {}),
            classic(4, {str(number): ORDERS for number in range(5)}),
            "client-0 at 10.0.0.7, client-1 at 10.0.0.7, client-2 at 10.0.0.7 and 2 more joined",
            id="many",
        ),
    ],
)
def test_reasons(before: build.Record, after: build.Record, reason: str) -> None:
    log = Log()
    log.append(before)
    (found,) = log.append(after)
    assert found.reason == reason


def test_another_coordinator_is_named() -> None:
    log = Log()
    log.append(classic(3, {"a": ORDERS}), epoch=4)
    (found,) = log.append(classic(4, {"a": ORDERS, "b": ORDERS}), epoch=5)
    assert found.reason == "client-b at 10.0.0.7 joined; the coordinator changed"


def test_a_generation_that_is_written_again_is_none() -> None:
    log = Log()
    assert log.append(classic(3, {"a": ORDERS}), classic(3, {"a": ORDERS}, protocol="sticky")) == []


def test_a_generation_of_nobody_after_one_of_nobody_is_none() -> None:
    log = Log()
    assert log.append(classic(0, {}, protocol=None)) == []  # of a group that only commits
    assert log.append(classic(1, {}, protocol=None)) == []
    (missed,) = log.append(classic(3, {}, protocol=None))
    assert missed.reason == "generations from 2 to 2 are not in the log"
    assert log.append(epoch(3, 1), epoch(3, 2)) == []


@pytest.mark.parametrize(("of_member", "of_epoch"), [(5, 3), (10, 11), (19, 17)])
def test_epochs_of_newer_groups(of_member: int, of_epoch: int) -> None:
    def joins(id_: str) -> build.Record:
        return key(of_member, "billing", id_), member(of_member, id_)

    log = Log()
    (first,) = log.append(joins("a"), epoch(of_epoch, 1))
    assert first.reason == "client-a at 10.0.0.7 joined"
    (second,) = log.append(joins("b"), epoch(of_epoch, 2))
    assert (second.members_before, second.members) == (1, 2)
    assert second.rebalance_timeout_seconds == (None if of_member == 10 else 60)
    (third,) = log.append((key(of_member, "billing", "a"), None), epoch(of_epoch, 3))
    assert third.reason == "client-a at 10.0.0.7 left"
    assert (third.generation, third.members) == (3, 1)


def test_a_pattern_is_part_of_the_subscription() -> None:
    log = Log()
    log.append((key(5, "billing", "a"), member(5, "a", (), "order.*")), epoch(3, 1))
    (found,) = log.append((key(5, "billing", "a"), member(5, "a", (), "o.*")), epoch(3, 2))
    assert found.reason == "client-a at 10.0.0.7 subscribed to other topics"


def test_a_log_that_is_read_anew_tells_nothing_twice() -> None:
    log = Log()
    records = [classic(1, {"a": ORDERS}), classic(2, {"a": ORDERS, "b": ORDERS})]
    assert len(log.append(*records)) == 2
    log.commits.restart()
    log.commits.position = 0
    assert log.append(*records) == []
    (found,) = log.append(classic(3, {"b": ORDERS}))
    assert found.reason == "client-a at 10.0.0.7 left"


def test_a_record_that_is_not_understood_costs_no_commit() -> None:
    log = Log()
    odd = key(2, "billing"), struct.pack(">h", 9) + b"?"
    assert log.append(classic(3, {"a": ORDERS}), odd, build.commit("billing", "t", 0, 5, 9)) == []
    assert len(log.commits) == 1
    assert log.commits.groups.problem == "the record of a group at offset 1: version 9 is not known"
    assert log.append(classic(5, {"b": ORDERS})) == []  # what was before is not known


def mutated_records_end_no_reading(data: st.DataObject) -> None:
    log = Log()
    made = [
        classic(1, {"a": ORDERS}, version=data.draw(st.integers(0, 4))),
        (key(5, "billing", "a"), member(5, "a")),
        epoch(3, 2),
    ]
    key_, value = data.draw(st.sampled_from(made))
    assert key_ is not None and value is not None
    at = data.draw(st.integers(2, len(value) - 1))
    broken = value[:at] + data.draw(st.binary(max_size=9)) + value[at + 1 :]
    log.append((key_, broken[: data.draw(st.integers(0, len(broken)))]))
    log.append(build.commit("billing", "t", 0, 5, 9))
    assert len(log.commits) == 1


def test_mutated_records_end_no_reading() -> None:
    with_examples(mutated_records_end_no_reading, 100)


@MARK
@pytest.mark.parametrize("part", range(10))
def test_very_many_mutated_records(part: int, ten_with_all: int) -> None:
    with_examples(mutated_records_end_no_reading, 500 * ten_with_all, part)
