"""The group shares its partitions out anew every few minutes, and works in between."""

from simulation.assignors import Assignor
from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("rebalances again and again", variant)
    every = round(group.draw.between(600.0, 400.0, 1200.0))
    events = [
        SimulatedEvent(at=float(at), action=lambda run: run.rebalance())
        for at in range(600, 7000, every)
    ]
    pause = group.draw.between(30.0, 10.0, 35.0)
    return group.scenario(
        group.workload(None, events, assignor=Assignor.RANGE, pause_seconds=pause),  # type: ignore[arg-type]
        2 * HOUR,
    )
