"""What happens if advice is not followed: in the words that the pages have for the same figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alerting.status.group_status import Status
from alerting.status.model import LagNumbers
from scaling.advice.model import AdviceKind, AdviceSeverity, Confidence, Recommendation
from scaling.advisers.impact import consequence
from scaling.facts.group_facts import GroupFacts
from tests.unit.alerting.status.scenarios import constant
from tests.unit.scaling.advisers.advising import facts, six

ADVICE = Recommendation(
    kind=AdviceKind.ADD_CONSUMERS,
    cluster="demo",
    subject="billing",
    severity=AdviceSeverity.WATCH,
    confidence=Confidence.LOW,
    reason="",
)
STEADY = LagNumbers(lag=90, growth_per_second=0.1, arrival_per_second=90.0)
GROWS = replace(STEADY, growth_per_second=9.0)


def group(status: Status, of_group: LagNumbers, *of_partitions: LagNumbers) -> GroupFacts:
    """Return the facts of a group that has these figures, whose first partitions have those."""
    made = facts(six(arrival=constant(100.0), capacity=constant(200.0)))
    parts = [
        replace(part, status=replace(part.status, numbers=numbers))
        for part, numbers in zip(made.partitions, (*of_partitions, *[STEADY] * 6), strict=False)
    ]
    return replace(
        made,
        status=replace(made.status, status=status, numbers=of_group),
        partitions=tuple(parts),
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param(group(Status.OK, GROWS), "The backlog grows", id="it grows"),
        pytest.param(group(Status.OK, STEADY), None, id="it sways"),
        pytest.param(
            group(Status.OK, STEADY, GROWS), "The backlog of orders-0 grows", id="one grows"
        ),
        pytest.param(
            group(Status.FALLING_BEHIND, STEADY), "The backlog is not drained", id="late, and stays"
        ),
        pytest.param(group(Status.OK, LagNumbers(lag=9)), None, id="unknown"),
    ],
)
def test_whether_the_backlog_grows_is_what_the_page_says(
    given: GroupFacts, said: str | None
) -> None:
    expected = None if said is None else f"{said}, at the present rates."
    assert consequence(given, ADVICE) == expected


@pytest.mark.parametrize(
    ("objective", "is_lasting", "said"),
    [
        pytest.param(1800.0, True, "The objective of 30 min is missed in", id="it lasts"),
        pytest.param(1800.0, False, "The backlog grows", id="a peak that may pass"),
        pytest.param(90.0, False, "The objective of 1 min 30 s is missed soon", id="soon"),
    ],
)
def test_a_peak_that_may_pass_is_not_said_to_miss_the_objective_later(
    objective: float, is_lasting: bool, said: str
) -> None:
    numbers = replace(
        GROWS, arrival_per_second=100.0, consumption_per_second=75.0, behind_seconds=60.0
    )
    late = replace(group(Status.FALLING_BEHIND, numbers), objective_seconds=objective)
    late = replace(late, status=replace(late.status, is_lasting=is_lasting))
    assert (consequence(late, ADVICE) or "").startswith(said)
