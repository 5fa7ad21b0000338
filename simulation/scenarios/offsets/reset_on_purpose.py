"""An operator stops the group, resets it to the earliest offset and starts it again."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nobody needs to be notified of what was meant."""
    group = setting("reset to earliest on purpose", variant)
    at = group.begins()
    paused = max(group.draw.between(60.0, 45.0, 80.0), group.poll_seconds)
    spare = group.draw.between(4.0, 2.0, 8.0)
    events = [
        SimulatedEvent(at=at, action=lambda run: run.scale(0)),
        SimulatedEvent(at=at + paused / 2, action=lambda run: run.reset_offsets("earliest")),
        SimulatedEvent(at=at + paused, action=lambda run: run.scale(group.members)),
    ]
    end = at + HOUR
    return group.scenario(
        group.workload(
            None,
            events,
            start_seconds=5.0,
            rate_per_second=group.rate_for(spare * group.arrival),
        ),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=end, status="CATCHING_UP", should_alert=False),
        ],
    )
