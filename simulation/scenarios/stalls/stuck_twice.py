"""A group hangs, recovers, and hangs again."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; two incidents, each notified."""
    group = setting("stuck twice", variant)
    spare = group.draw.between(2.5, 2.0, 5.0)
    first = group.begins()
    lasts = group.draw.between(900.0, 600.0, 1200.0)
    second = first + lasts + HOUR / 2
    every = range(group.partitions)
    events = [
        event
        for at in (first, second)
        for event in (
            SimulatedEvent(at, lambda run: run.freeze(*every)),
            SimulatedEvent(at + lasts, lambda run: run.thaw(*every)),
        )
    ]
    end = second + lasts + HOUR / 2
    per_second = spare * group.arrival / group.members
    return group.scenario(
        group.workload(None, events, rate_per_second=per_second),
        end,
        [
            Truth(0.0, first, "OK", False),
            Truth(first, first + lasts, "STALLED", True),
            Truth(first + lasts, second, "CATCHING_UP", False),
            Truth(second, second + lasts, "STALLED", True),
            Truth(second + lasts, end, "CATCHING_UP", False),
        ],
    )
