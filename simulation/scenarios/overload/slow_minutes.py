"""A dependency is slow for some minutes; the group recovers by itself."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nobody needs to be notified."""
    group = setting("slow for minutes", variant)
    at = group.begins()
    lasts = group.draw.between(200.0, 60.0, 240.0)
    left = group.draw.between(0.5, 0.2, 0.9)
    factor = left * group.arrival / group.capacity
    events = [
        SimulatedEvent(at=at, action=lambda run: run.set_capacity(factor)),
        SimulatedEvent(at=at + lasts, action=lambda run: run.set_capacity(1.0)),
    ]
    return group.scenario(group.workload(None, events), HOUR)
