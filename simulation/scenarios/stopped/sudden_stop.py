"""The last consumer leaves, and messages keep arriving."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nobody consumes until somebody starts the group again."""
    group = setting("sudden stop", variant)
    at = group.begins()
    back = at + group.draw.between(1200.0, 600.0, 2400.0)
    events = [
        SimulatedEvent(at=at, action=lambda run: run.scale(0)),
        SimulatedEvent(at=back, action=lambda run: run.scale(group.members)),
    ]
    end = back + HOUR
    return group.scenario(
        group.workload(None, events),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=back, status="STOPPED", should_alert=True),
            Truth(begin=back, end=end, status="CATCHING_UP", should_alert=False),
        ],
    )
