"""Answers about groups that no sound broker or client would give."""

from __future__ import annotations

import copy
import random
import struct
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace as Answer
from typing import Any, cast

import polars as pl
import pytest

from collectors.kafka.cluster.metadata import read_metadata
from collectors.kafka.groups.descriptions import NOT_ANSWERED, NOT_UNDERSTOOD
from collectors.kafka.groups.model import Groups
from collectors.kafka.groups.read import read_groups
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from tests.selection import MARK

GROUPS = ("bad", "good")
DEADLINE = Deadline(5.0, 5.0)


def assignment(*partitions: int) -> bytes:
    name = struct.pack(">h6s", 6, b"orders")
    counted = struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    return struct.pack(">hi", 0, 1) + name + counted


def member(name: str, *partitions: int) -> Answer:
    return Answer(
        member_id=name,
        client_id="client",
        client_host="/10.0.0.1",
        group_instance_id=None,
        member_metadata=struct.pack(">hih6s", 0, 1, 6, b"orders"),
        member_assignment=assignment(*partitions),
    )


def described(group: str, *members: Answer) -> Answer:
    return Answer(
        group_id=group,
        error_code=0,
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=list(members),
    )


def committed(group: str) -> Answer:
    partitions = [
        Answer(partition_index=number, error_code=0, committed_offset=10 + number)
        for number in range(2)
    ]
    topics = [Answer(name="orders", partitions=partitions)]
    return Answer(group_id=group, error_code=0, topics=topics)


def answers() -> dict[str, Answer]:
    listed = [
        Answer(group_id=group, group_type="Classic", protocol_type="consumer") for group in GROUPS
    ]
    descriptions = [described(group, member("a", 0), member("b", 1)) for group in GROUPS]
    return {
        "ListGroupsRequest": Answer(error_code=0, groups=listed),
        "DescribeGroupsRequest": Answer(groups=descriptions),
        "OffsetFetchRequest": Answer(groups=[committed(group) for group in GROUPS]),
    }


class Brokers:
    """One broker, which answers by the name of the request."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self._said = said

    def each(
        self,
        requests: Mapping[int, list[Any]],
        deadline: Deadline,
        read: Callable[[Any], Any] = lambda answer: answer,
    ) -> dict[int, list[Any]]:
        return {
            broker: [read(self._said[one.name]) for one in asked]
            for broker, asked in requests.items()
        }

    def any(self, make: Callable[[], Any], deadline: Deadline) -> Any:
        return self._said[make().name]

    def meet(self, brokers: object) -> None:
        """Take nothing over."""


def read(said: Mapping[str, Any]) -> Groups:
    found = read_groups(cast(Wire, Brokers(said)), [1], {}, lambda _: True, DEADLINE)
    key = ["group", "topic", "partition"]
    assert found.owners.select(key).is_unique().all()
    assert found.committed.select(key).is_unique().all()
    assert found.members.select("group", "member_id").is_unique().all()
    assert found.groups["group"].is_unique().all()
    return found


def of(group: str, rows: pl.DataFrame) -> list[tuple[Any, ...]]:
    return rows.filter(pl.col("group") == group).rows()


def test_two_members_that_claim_one_partition_make_no_second_row() -> None:
    said = answers()
    said["DescribeGroupsRequest"].groups[0] = described("bad", member("a", 0, 1), member("b", 1, 1))
    found = read(said)
    assert [row[2:4] for row in of("bad", found.owners)] == [(0, "a"), (1, "a")]
    assert found.problems == ["group bad: 2 members claim orders-1 and maybe more; one is shown"]


def test_a_member_that_is_listed_twice_is_one() -> None:
    said = answers()
    said["DescribeGroupsRequest"].groups[0] = described("bad", member("a", 0), member("a", 0))
    assert len(of("bad", read(said).members)) == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("group_state", None, id="no state"),
        pytest.param("members", [None], id="a member that is none"),
        pytest.param("members", 7, id="members that are no list"),
    ],
)
def test_a_group_that_makes_no_sense_is_unknown_and_costs_no_other(field: str, value: Any) -> None:
    said = answers()
    setattr(said["DescribeGroupsRequest"].groups[0], field, value)
    found = read(said)
    (row,) = found.groups.filter(pl.col("group") == "bad").to_dicts()
    assert (row["state"], row["unknown_reason"]) == ("unknown", NOT_UNDERSTOOD)
    assert found.problems == [f"1 of 2 groups are unknown: {NOT_UNDERSTOOD}"]
    assert of("good", found.owners) == of("good", read(answers()).owners)


@pytest.mark.parametrize("kind", ["DescribeGroupsRequest", "OffsetFetchRequest"])
def test_a_group_that_is_not_answered_for_is_unknown(kind: str) -> None:
    said = answers()
    del said[kind].groups[0]
    found = read(said)
    assert set(found.groups["group"]) == set(GROUPS)
    assert found.offsets_unknown == {"bad": NOT_ANSWERED}


def test_null_arrays_are_empty() -> None:
    said = answers()
    said["DescribeGroupsRequest"].groups[0].members = None
    said["OffsetFetchRequest"].groups[0].topics = None
    found = read(said)
    assert (of("bad", found.members), of("bad", found.committed)) == ([], [])
    assert len(of("good", found.committed)) == 2


def test_names_with_half_of_a_surrogate_pair_stay_apart() -> None:
    said = answers()
    topics = said["OffsetFetchRequest"].groups[0].topics
    topics.append(copy.deepcopy(topics[0]))
    topics[0].name, topics[1].name = "\ud800", "\ud801"
    assert len(of("bad", read(said).committed)) == 4


def broker_metadata() -> Answer:
    def partition(number: int) -> Answer:
        return Answer(partition_index=number, leader_id=1, replica_nodes=[1], isr_nodes=[1])

    return Answer(
        cluster_id="id",
        controller_id=1,
        brokers=[Answer(node_id=1, host="k", port=9092, rack=None)],
        topics=[
            Answer(
                error_code=0,
                name=name,
                topic_id=None,
                is_internal=False,
                partitions=[partition(0), partition(1)],
            )
            for name in ("odd", "orders")
        ],
    )


def test_metadata_with_null_arrays_and_partitions_twice() -> None:
    said = broker_metadata()
    said.topics[0].partitions[0].isr_nodes = None
    said.topics[0].partitions.append(said.topics[0].partitions[0])
    said.topics.append(Answer(error_code=0, name=None, partitions=None))
    found = read_metadata(cast(Wire, Brokers({"MetadataRequest": said})), DEADLINE)
    assert found.partitions.select("topic", "partition").rows() == [
        ("odd", 0),
        ("odd", 1),
        ("orders", 0),
        ("orders", 1),
    ]


NULLS = (None, [], "", "\ud800", 0, -1, 2**31 - 1, b"", b"\xff" * 40)
"""What fields may hold by the protocol's types, a string's text aside."""


def mutated(seed: int, count: int) -> Iterator[tuple[str, dict[str, Answer]]]:
    chance = random.Random(seed)  # noqa: S311  which value is odd is no secret
    for _ in range(count):
        said = answers()
        kind = chance.choice(("DescribeGroupsRequest", "OffsetFetchRequest"))
        inner: Any = said[kind].groups[0]
        while True:
            name = chance.choice([key for key in vars(inner) if key not in ("group_id", "name")])
            value = getattr(inner, name)
            if isinstance(value, list) and value and chance.random() < 0.7:
                if chance.random() < 0.2:
                    value.append(copy.deepcopy(chance.choice(value)))
                    break
                inner = chance.choice(value)
                continue
            is_number = isinstance(value, int)
            same = [each for each in NULLS if isinstance(each, type(value)) or each is None]
            same = [each for each in same if each is not None or not is_number]
            setattr(inner, name, chance.choice(same))
            break
        yield f"{kind} {name}", said


def run(seed: int, count: int) -> None:
    sound = read(answers())
    for what, said in mutated(seed, count):
        found = read(said)
        for table in ("owners", "committed", "members", "groups"):
            mine, theirs = getattr(found, table), getattr(sound, table)
            assert of("good", mine) == of("good", theirs), what


def test_one_odd_value_costs_its_group_alone() -> None:
    run(1, 500)


@MARK
@pytest.mark.parametrize("seed", range(2, 12))
def test_one_odd_value_of_many_costs_its_group_alone(seed: int, ten_with_all: int) -> None:
    run(seed, 200 * ten_with_all)
