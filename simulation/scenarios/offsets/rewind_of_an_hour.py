"""An hour is processed again on purpose: the group was stopped to rewind it."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; it was meant, and it catches up."""
    group = setting("rewound by an hour on purpose", variant)
    at = 1.2 * HOUR
    paused = max(group.draw.between(60.0, 45.0, 80.0), group.poll_seconds)
    spare = group.draw.between(4.0, 2.5, 6.0)
    target = (at - HOUR) * group.arrival / group.partitions
    events = [
        SimulatedEvent(at=at, action=lambda run: run.scale(0)),
        SimulatedEvent(at=at + paused / 2, action=lambda run: run.reset_offsets(target)),
        SimulatedEvent(at=at + paused, action=lambda run: run.scale(group.members)),
    ]
    end = at + 1.5 * HOUR
    per_second = group.rate_for(spare * group.arrival)
    return group.scenario(
        group.workload(None, events, start_seconds=5.0, rate_per_second=per_second),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=end, status="CATCHING_UP", should_alert=False),
        ],
    )
