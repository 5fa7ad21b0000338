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
