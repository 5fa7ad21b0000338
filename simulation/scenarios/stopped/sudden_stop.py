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
        SimulatedEvent(at, lambda run: run.scale(0)),
        SimulatedEvent(back, lambda run: run.scale(group.members)),
    ]
    end = back + HOUR
    return group.scenario(
        group.workload(None, events),
        end,
        [
            Truth(0.0, at, "OK", False),
            Truth(at, back, "STOPPED", True),
            Truth(back, end, "CATCHING_UP", False),
        ],
    )
