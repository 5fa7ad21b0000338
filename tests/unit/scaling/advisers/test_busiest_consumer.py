"""What the busiest consumer gets and may get, so that its sentence adds up."""

from __future__ import annotations

import numpy as np
import pytest

from scaling.advisers.busiest_consumer import BusiestConsumer, busiest_consumer
from scaling.facts.capacity import Capacity, CapacityStatus
from scaling.sizing.assignment import Assignment
from scaling.sizing.size import SizeInputs
from simulation.assignors import Assignor

LOADS = np.array([40.0, 10.0, 20.0, 30.0])


def of(consumers: int, **known: object) -> BusiestConsumer:
    inputs = SizeInputs(
        assignment=Assignment(partitions=(("t", 4),), assignor=Assignor.RANGE),
        consumers=2,
        arrival=LOADS,
        soon=LOADS,
        lag=np.zeros(4),
        capacity=Capacity(
            status=CapacityStatus.IDENTIFIED, reason="", per_second=60.0, low=50.0, high=70.0
        ),
        objective_seconds=300.0,
        **known,  # type: ignore[arg-type]
    )
    return busiest_consumer(inputs, LOADS, consumers, 0.8)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        pytest.param(
            of(4),
            "the busiest of 4 gets 40/s (40 %), within the 40/s allowed (80 % of the 50/s that it "
            "processes at least)",
            id="at the limit",
        ),
        pytest.param(
            of(2),
            "the busiest of 2 gets 50/s (50 %), more than the 40/s allowed (80 % of the 50/s that "
            "it processes at least)",
            id="too much",
        ),
        pytest.param(
            of(1),
            "a single one gets 100/s, more than the 40/s allowed (80 % of the 50/s that it "
            "processes at least)",
            id="alone",
        ),
        pytest.param(
            of(4, slowed={2: 20.0}),
            "the busiest of 4 gets 20/s (20 %), more than the 16/s allowed (80 % of the 20/s that "
            "it processes at least)",
            id="one is slow, and used most by less",
        ),
        pytest.param(
            of(4, blocked=np.array([True, False, False, False])),
            "the busiest of 4 gets 30/s (50 %), within the 40/s allowed (80 % of the 50/s that it "
            "processes at least)",
            id="what is blocked is nobody's load",
        ),
    ],
)
def test_what_the_busiest_gets_is_compared_with_what_it_may_get(
    found: BusiestConsumer, said: str
) -> None:
    assert found.words() == said
    assert [one.value for one in found.evidence] == pytest.approx(
        [found.per_second, round(found.share, 3), found.allowed, 0.8]
    )
