"""A group that is behind is set to the newest offset."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong any more."""
    group = setting("reset to latest", variant)
    at = group.begins()
    events = [
        SimulatedEvent(at=at, action=lambda run: run.scale(0)),
        SimulatedEvent(at=at + 30, action=lambda run: run.reset_offsets("latest")),
        SimulatedEvent(at=at + 50, action=lambda run: run.scale(group.members)),
    ]
    return group.scenario(group.workload(None, events, start_seconds=5.0), HOUR)
