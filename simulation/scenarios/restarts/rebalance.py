"""A rebalance that stops the whole group for half a minute."""

from simulation.assignors import Assignor
from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("rebalance of 30 s", variant)
    pause = group.draw.between(30.0, 10.0, 45.0)
    again = group.draw.between(900.0, 300.0, 1200.0)
    events = [
        SimulatedEvent(at=group.begins() + again * count, action=lambda run: run.rebalance())
        for count in range(3)
    ]
    return group.scenario(
        group.workload(None, events, assignor=Assignor.RANGE, pause_seconds=pause),  # type: ignore[arg-type]
        HOUR,
    )
