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
        SimulatedEvent(at=at, action=lambda run: run.scale(0)),
        SimulatedEvent(at=at + away, action=lambda run: run.scale(group.members)),
    ]
    return group.scenario(
        group.workload(None, events, start_seconds=5.0),
        HOUR,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=HOUR, status="CATCHING_UP", should_alert=False),
        ],
    )
