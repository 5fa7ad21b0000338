"""KEDA's answer beside ours: the number, and the reason for each difference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scaling.advice.model import AdviceKind, AdviceSeverity, Confidence, Recommendation
from scaling.advisers.keda_comparison import keda_answer, threshold_of
from scaling.facts.group_facts import GroupFacts
from tests.unit.alerting.status.scenarios import constant
from tests.unit.scaling.advisers.advising import facts, six
from tests.unit.scaling.advisers.test_measured_size import measured


def with_lag(each: int, *, members: int = 3) -> GroupFacts:
    """Return six partitions in each of which so many messages wait."""
    group = facts(six(members=members, arrival=constant(50.0), capacity=constant(50.0)))
    parts = tuple(
        replace(part, status=replace(part.status, numbers=replace(part.status.numbers, lag=each)))
        for part in group.partitions
    )
    return replace(group, partitions=parts)


def advice(proposed: int | None, kind: AdviceKind = AdviceKind.ADD_CONSUMERS) -> Recommendation:
    return Recommendation(
        kind=kind,
        cluster="demo",
        subject="billing",
        severity=AdviceSeverity.WATCH,
        confidence=Confidence.HIGH,
        reason="",
        quantity="consumers",
        current=3,
        proposed=proposed,
        limiting_factor="steady",
    )


@pytest.mark.parametrize(
    ("each", "members", "ours", "replicas", "why"),
    [
        pytest.param(11, 3, 6, 7, "more than the 6 that can work", id="one-too-many"),
        pytest.param(5, 3, 3, 3, "The same number", id="the-same"),
        pytest.param(8, 3, 6, 5, "knows nothing of the steady need", id="fewer"),
        pytest.param(10, 3, 4, 6, "fewer drain it in time", id="more"),
        pytest.param(7, 3, 3, 5, "no better than 3", id="no-better"),
    ],
)
def test_the_number_and_why_it_differs(
    each: int, members: int, ours: int, replicas: int, why: str
) -> None:
    found = keda_answer(with_lag(each, members=members), advice(ours))
    assert found is not None
    assert found.replicas == replicas and why in found.why


def test_the_last_replicas_that_never_start_are_named() -> None:
    windows = [one for part in range(4) for one in six(members=22)]
    many = facts(
        [replace(one, partition=number) for number, one in enumerate(windows)],
        holders=lambda p: f"m{p}",
    )
    parts = tuple(
        replace(p, status=replace(p.status, numbers=replace(p.status.numbers, lag=1000)))
        for p in many.partitions
    )
    found = keda_answer(replace(many, partitions=parts), advice(24))
    assert found is not None and found.replicas == 22
    assert "never starts the last 2" in found.why


@pytest.mark.parametrize(
    "kind", [AdviceKind.BLOCKED_PARTITION, AdviceKind.HOT_PARTITION, AdviceKind.DOWNSTREAM]
)
def test_it_does_not_see_that_more_will_not_help(kind: AdviceKind) -> None:
    found = keda_answer(with_lag(10), advice(None, kind))
    assert found is not None and found.replicas == 6
    assert found.why.startswith("It sees the lag alone")


def test_the_threshold_is_that_of_the_advised_autoscaler() -> None:
    group = with_lag(5)
    assert threshold_of(group) == 10
    assert threshold_of(replace(group, capacity=measured(120.0))) == 6000


def test_without_members_nothing_is_compared() -> None:
    assert keda_answer(replace(with_lag(5), members=None), advice(3)) is None
