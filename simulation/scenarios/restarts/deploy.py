"""A deploy: the group is away for a minute or so, and then catches up."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("catching up after a deploy", variant)
    at = group.begins()
    away = group.draw.between(60.0, 20.0, 80.0)
    events = [
        SimulatedEvent(at, lambda run: run.scale(0)),
        SimulatedEvent(at + away, lambda run: run.scale(group.members)),
    ]
    return group.scenario(
        group.workload(None, events, start_seconds=5.0),
        HOUR,
        [Truth(0.0, at, "OK", False), Truth(at, HOUR, "CATCHING_UP", False)],
    )
