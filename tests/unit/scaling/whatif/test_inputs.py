from __future__ import annotations

from dataclasses import replace

import pytest

from alerting.checks.retention_deadline import Retention
from alerting.status.model import (
    GroupStatus,
    LagNumbers,
    PartitionStatus,
    PartitionWindow,
    Sample,
    Status,
)
from scaling.facts.capacity import Capacity, CapacityStatus
from scaling.facts.group_facts import GroupFacts, PartitionFacts, TopicLimits
from scaling.whatif.inputs import what_if_inputs
from scaling.whatif.queue_model import SimulationError
from simulation.assignors import Assignor

MEASURED = Capacity(
    status=CapacityStatus.IDENTIFIED, reason="", per_second=90.0, low=85.0, high=95.0
)


def _part(
    topic: str, number: int, numbers: LagNumbers, *, subscribed: bool = True
) -> PartitionFacts:
    return PartitionFacts(
        status=PartitionStatus(
            topic=topic,
            partition=number,
            status=Status.OK,
            reason="",
            since=None,
            began_before_window=False,
            numbers=numbers,
            subscribed=subscribed,
        )
    )


def _facts(*parts: PartitionFacts, capacity: Capacity | None = MEASURED) -> GroupFacts:
    status = GroupStatus(
        status=Status.OK,
        reason="",
        since=None,
        began_before_window=False,
        numbers=LagNumbers(),
        unknown_partitions=0,
        partitions=tuple(part.status for part in parts),
    )
    return GroupFacts(
        cluster="demo",
        group="g",
        status=status,
        partitions=parts,
        topics={"b": TopicLimits(partitions=2, retention=Retention(seconds=7200.0))},
        assignor="range",
        members=3,
        capacity=capacity,
    )


def _numbers(arrival: float | None = 10.0, lag: int | None = 40) -> LagNumbers:
    return LagNumbers(lag=lag, behind_seconds=4.0, arrival_per_second=arrival)


def test_partitions_are_in_the_order_of_the_simulator() -> None:
    found = what_if_inputs(
        _facts(
            _part("b", 1, _numbers(3.0)),
            _part("b", 0, _numbers(2.0, 7)),
            _part("a", 0, _numbers(1.0)),
            _part("gone", 0, _numbers(9.0), subscribed=False),
        )
    )
    assert found.topics == {"a": 1, "b": 2}
    assert found.arrival_per_second.tolist() == [1.0, 2.0, 3.0]
    assert found.lag.tolist() == [40, 7, 40]
    assert (found.consumers, found.capacity_per_second) == (3, 90.0)
    assert found.assignor is Assignor.RANGE
    assert found.retention_seconds == 7200.0


def test_what_is_given_goes_before_what_was_measured() -> None:
    found = what_if_inputs(_facts(_part("a", 0, _numbers())), capacity_per_second=55.0, consumers=9)
    assert (found.consumers, found.capacity_per_second) == (9, 55.0)


def test_a_lower_bound_is_used_and_said() -> None:
    bound = Capacity(status=CapacityStatus.LOWER_BOUND, reason="never saturated", low=60.0)
    found = what_if_inputs(_facts(_part("a", 0, _numbers()), capacity=bound))
    assert found.capacity_per_second == 60.0
    assert any("at least 60" in note for note in found.notes)


def test_a_limit_behind_the_consumers_is_kept() -> None:
    conflict = Capacity(
        status=CapacityStatus.CONFLICT, reason="", per_second=50.0, limit_per_second=150.0
    )
    found = what_if_inputs(_facts(_part("a", 0, _numbers()), capacity=conflict))
    assert found.shared_limit_per_second == 150.0


def test_an_unknown_assignor_is_assumed_and_said() -> None:
    facts = replace(_facts(_part("a", 0, _numbers())), assignor="my-own", type="consumer")
    found = what_if_inputs(facts)
    assert found.assignor is Assignor.UNIFORM
    assert any("uniform" in note for note in found.notes)


def test_an_unknown_lag_is_taken_for_none_and_said() -> None:
    found = what_if_inputs(_facts(_part("a", 0, _numbers(lag=None))))
    assert found.lag.tolist() == [0]
    assert any("a-0" in note for note in found.notes)


def test_a_poll_that_could_not_read_the_lag_leaves_the_one_before() -> None:
    """Given three partitions whose newest poll failed, and one that no poll could read."""
    samples = (
        Sample(at=0.0, lag=30, time_lag_seconds=2.0),
        Sample(at=60.0, lag=50, time_lag_seconds=7.0),
        Sample(at=120.0),
    )
    windows = tuple(
        PartitionWindow(topic="a", partition=number, samples=samples if number < 4 else samples[2:])
        for number in range(5)
    )
    parts = [_part("a", number, LagNumbers(arrival_per_second=10.0)) for number in range(5)]

    found = what_if_inputs(replace(_facts(*parts), windows=windows))

    assert found.lag.tolist() == [50, 50, 50, 50, 0]
    assert found.time_lag_seconds.tolist() == [7.0, 7.0, 7.0, 7.0, 0.0]
    assert list(found.notes) == [
        "the newest poll could not read the lag of a-0, a-1, a-2 and 1 more: that of at most 1 min "
        "before is taken",
        "the lag of a-4 is unknown: taken for none",
    ]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        pytest.param(_facts(), "no partition", id="no partition"),
        pytest.param(_facts(_part("a", 0, _numbers(None))), "a-0 is unknown", id="no rate"),
        pytest.param(
            _facts(_part("a", 0, _numbers()), capacity=None), "not measured", id="no capacity"
        ),
        pytest.param(
            _facts(
                _part("a", 0, _numbers()),
                capacity=Capacity(status=CapacityStatus.UNKNOWN, reason="too few samples"),
            ),
            "too few samples",
            id="capacity unknown",
        ),
        pytest.param(
            replace(_facts(_part("a", 0, _numbers())), members=None),
            "how many consumers",
            id="members unknown",
        ),
    ],
)
def test_what_is_unknown_is_refused_not_guessed(facts: GroupFacts, message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        what_if_inputs(facts)
