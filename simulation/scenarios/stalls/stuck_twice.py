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
            SimulatedEvent(at=at, action=lambda run: run.freeze(*every)),
            SimulatedEvent(at=at + lasts, action=lambda run: run.thaw(*every)),
        )
    ]
    end = second + lasts + HOUR / 2
    per_second = group.rate_for(spare * group.arrival)
    return group.scenario(
        group.workload(None, events, rate_per_second=per_second),
        end,
        [
            Truth(begin=0.0, end=first, status="OK", should_alert=False),
            Truth(begin=first, end=first + lasts, status="STALLED", should_alert=True),
            Truth(begin=first + lasts, end=second, status="CATCHING_UP", should_alert=False),
            Truth(begin=second, end=second + lasts, status="STALLED", should_alert=True),
            Truth(begin=second + lasts, end=end, status="CATCHING_UP", should_alert=False),
        ],
    )
