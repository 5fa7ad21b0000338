from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.assignors import (
    Assignor,
    assign,
    idle_members,
    member_loads,
    most_members,
    reassign,
    useful_counts,
    useful_group_counts,
    worst_partitions,
)

ASSIGNORS = [pytest.param(assignor, id=assignor.value) for assignor in Assignor]
TOPICS = st.dictionaries(st.sampled_from("abcde"), st.integers(1, 40), min_size=1)


@pytest.mark.parametrize(
    ("partitions", "expected"),
    [
        pytest.param(0, (), id="none"),
        pytest.param(1, (1,), id="one"),
        pytest.param(24, (1, 2, 3, 4, 5, 6, 8, 12, 24), id="24"),
        pytest.param(7, (1, 2, 3, 4, 7), id="a prime"),
        pytest.param(
            126,
            (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 21, 26, 32, 42, 63, 126),
            id="126",
        ),
    ],
)
def test_useful_counts(partitions: int, expected: tuple[int, ...]) -> None:
    assert useful_counts(partitions) == expected


def known(loads: Sequence[float | None]) -> list[float]:
    assert None not in loads
    return [load for load in loads if load is not None]


def test_13_to_23_consumers_equal_12_for_24_even_partitions() -> None:
    rates = {"orders": [10.0] * 24}

    for assignor in Assignor:
        busiest = [max(known(member_loads(rates, assignor, n))) for n in range(12, 25)]
        assert busiest == [20.0] * 12 + [10.0]


@given(st.integers(1, 600))
def test_no_count_between_two_useful_ones_lowers_the_worst_member(partitions: int) -> None:
    useful = useful_counts(partitions)

    assert useful[0] == 1 and useful[-1] == partitions
    worst = {n: -(-partitions // n) for n in range(1, partitions + 1)}
    for n in range(2, partitions + 1):
        assert (worst[n] < worst[n - 1]) == (n in useful)


def test_negative_partitions_are_refused() -> None:
    with pytest.raises(ValueError, match="never negative"):
        useful_counts(-1)


@pytest.mark.parametrize("assignor", ASSIGNORS)
@given(topics=TOPICS, members=st.integers(1, 60))
def test_assignment_conserves_partitions(
    assignor: Assignor, topics: dict[str, int], members: int
) -> None:
    shares = assign(topics, assignor, members)

    dealt = Counter(partition for share in shares for partition in share)
    assert dealt == Counter((t, number) for t, size in topics.items() for number in range(size))
    assert len(shares) == members
    assert sum(1 for share in shares if not share) == idle_members(topics, assignor, members)
    assert max(len(share) for share in shares) == worst_partitions(topics, assignor, members)


@given(topics=TOPICS, members=st.integers(1, 60))
def test_all_but_range_differ_by_one_partition_at_most(
    topics: dict[str, int], members: int
) -> None:
    for assignor in set(Assignor) - {Assignor.RANGE}:
        sizes = [len(share) for share in assign(topics, assignor, members)]
        assert max(sizes) - min(sizes) <= 1


def test_range_gives_the_extra_partition_of_each_topic_to_the_same_member() -> None:
    shares = assign({"a": 3, "b": 3}, Assignor.RANGE, 2)

    assert shares == ((("a", 0), ("a", 1), ("b", 0), ("b", 1)), (("a", 2), ("b", 2)))


def test_round_robin_deals_over_topics() -> None:
    shares = assign({"a": 3, "b": 3}, Assignor.ROUNDROBIN, 2)

    assert shares == ((("a", 0), ("a", 2), ("b", 1)), (("a", 1), ("b", 0), ("b", 2)))


def test_uniform_fills_one_member_after_the_other() -> None:
    shares = assign({"a": 3, "b": 2}, Assignor.UNIFORM, 2)

    assert shares == ((("a", 0), ("a", 1), ("a", 2)), (("b", 0), ("b", 1)))


@pytest.mark.parametrize(
    ("assignor", "most"),
    [
        pytest.param(Assignor.RANGE, 6, id="range: the largest topic"),
        pytest.param(Assignor.COOPERATIVE_STICKY, 10, id="sticky: all of them"),
        pytest.param(None, 10, id="unknown: the larger bound"),
    ],
)
def test_most_members_over_two_topics(assignor: Assignor | None, most: int) -> None:
    assert most_members({"a": 6, "b": 4}, assignor) == most
    assert useful_group_counts({"a": 6, "b": 4}, assignor)[-1] == most


def test_hot_partition_bounds_the_busiest_member() -> None:
    rates = {"orders": [500.0] + [20.0] * 11}

    busiest = [max(known(member_loads(rates, Assignor.RANGE, n))) for n in (1, 6, 12)]
    assert busiest == [720.0, 520.0, 500.0]


def test_unknown_rate_makes_only_its_member_unknown() -> None:
    rates = {"orders": [1.0, None, 3.0, 4.0]}

    assert member_loads(rates, Assignor.RANGE, 2) == (None, 7.0)


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=30),
    st.integers(1, 40),
    st.sampled_from(Assignor),
)
def test_loads_conserve_traffic(rates: list[float], members: int, assignor: Assignor) -> None:
    loads = member_loads({"orders": rates}, assignor, members)

    assert sum(load or 0.0 for load in loads) == pytest.approx(sum(rates))


@pytest.mark.parametrize("call", [assign, worst_partitions])
def test_no_members_are_refused(call: object) -> None:
    with pytest.raises(ValueError, match="without members"):
        call({"a": 1}, Assignor.RANGE, 0)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("name", "assignor"),
    [
        ("range", Assignor.RANGE),
        ("Cooperative-Sticky", Assignor.COOPERATIVE_STICKY),
        ("stream", None),
        ("", None),
        (None, None),
    ],
)
def test_assignor_by_protocol_name(name: str | None, assignor: Assignor | None) -> None:
    assert Assignor.of(name) is assignor


@given(TOPICS, st.sampled_from(list(Assignor)), st.sets(st.integers(0, 30), min_size=1), st.data())
def test_sharing_out_anew_gives_every_partition_one_member(
    topics: dict[str, int], assignor: Assignor, members: set[int], data: st.DataObject
) -> None:
    keys = [(topic, number) for topic in topics for number in range(topics[topic])]
    held = data.draw(st.dictionaries(st.sampled_from(keys), st.integers(0, 35)))
    target = reassign(topics, assignor, sorted(members), held)
    assert sorted(target) == sorted(keys)
    assert set(target.values()) <= members
    if assignor is not Assignor.RANGE:
        counts = Counter({member: 0 for member in members}) + Counter(target.values())
        shares = [counts[member] for member in members]
        assert max(shares) - min(shares) <= 1


@given(st.integers(1, 60), st.integers(1, 20), st.integers(1, 20))
def test_sticky_moves_no_more_than_it_must(partitions: int, before: int, after: int) -> None:
    topics = {"t": partitions}
    start = reassign(topics, Assignor.COOPERATIVE_STICKY, range(before), {})
    target = reassign(topics, Assignor.COOPERATIVE_STICKY, range(after), start)
    held = Counter(start.values())
    size, extra = divmod(partitions, after)
    # The fullest members keep the larger shares; whatever they hold beyond those has to go.
    fullest = sorted((held[member] for member in range(after)), reverse=True)
    keep = sum(min(number, size + (rank < extra)) for rank, number in enumerate(fullest))
    moved = sum(target[key] != member for key, member in start.items())
    assert moved == partitions - keep


def test_nobody_gets_anything_without_members() -> None:
    assert reassign({"t": 3}, Assignor.RANGE, [], {("t", 0): 1}) == {}
