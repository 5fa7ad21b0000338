"""Advice where one partition is hot, or one or all stand still."""

from __future__ import annotations

from alerting.status.group_status import Status
from scaling.advice.model import AdviceKind, AdviceSeverity
from tests.unit.alerting.status.scenarios import constant, window
from tests.unit.scaling.advisers.advising import advice_on, facts, kinds, six


def test_hot_partition_is_named_and_more_consumers_are_not_advised() -> None:
    parts = [window(partition=p, arrival=constant(20.0), poll=5.0) for p in range(11)]
    parts.append(window(partition=11, arrival=constant(400.0), poll=5.0))
    hot = facts(parts, members=12)

    [advice] = advice_on(hot)

    assert hot.status.status is Status.FALLING_BEHIND
    assert advice.kind is AdviceKind.HOT_PARTITION
    assert advice.proposed is None
    assert "orders-11" in advice.reason
    assert "65 % of the topic's messages; an even share is 8.3 %" in advice.reason
    assert "more consumers will not help" in advice.reason
    assert "keys" in (advice.unknown_reason or "")


def test_hot_partition_that_shares_its_consumer_can_be_relieved_of_the_others() -> None:
    parts = [window(partition=p, arrival=constant(20.0), poll=5.0) for p in range(11)]
    parts.append(window(partition=11, arrival=constant(400.0), poll=5.0))
    hot = facts(parts, members=3, holders=lambda p: f"m{p // 4}")

    [advice] = advice_on(hot)

    assert "3 other partitions" in advice.reason


def test_hot_partition_without_harm_is_information() -> None:
    parts = [window(partition=p, arrival=constant(20.0), poll=5.0) for p in range(5)]
    parts.append(window(partition=5, arrival=constant(150.0), poll=5.0))

    found = advice_on(facts(parts))

    assert kinds(found) == [AdviceKind.KEEP, AdviceKind.HOT_PARTITION]
    assert found[1].severity is AdviceSeverity.INFO


def test_poison_partition_gets_no_scaling_advice() -> None:
    parts = six()
    parts[4] = window(partition=4, poll=5.0, capacity=lambda t: 200.0 if t < 200 else 0.0)
    stuck = facts(parts, holders=lambda p: f"m{p // 2}")

    [advice] = advice_on(stuck)

    assert stuck.status.status is Status.STALLED
    assert advice.kind is AdviceKind.BLOCKED_PARTITION
    assert advice.severity is AdviceSeverity.ACT_NOW
    assert advice.proposed is None
    assert "orders-4" in advice.reason
    assert "other partitions of the same member advance" in advice.reason
    assert "will not help" in advice.reason


def test_poison_partition_held_alone_is_told_by_the_rest_of_the_group() -> None:
    parts = six(members=6)
    parts[4] = window(
        partition=4, poll=5.0, members=6, capacity=lambda t: 200.0 if t < 200 else 0.0
    )

    [advice] = advice_on(facts(parts))

    assert advice.kind is AdviceKind.BLOCKED_PARTITION
    assert "the group's others" in advice.reason
    assert advice.confidence.value == "medium"


def test_group_that_stands_still_as_a_whole_is_blocked() -> None:
    still = facts(six(capacity=lambda t: 200.0 if t < 200 else 0.0))

    [advice] = advice_on(still)

    assert advice.kind is AdviceKind.BLOCKED_GROUP
    assert "More consumers will not help" in advice.reason
