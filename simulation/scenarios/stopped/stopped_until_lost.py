"""A group stops, and nobody starts it again before retention overtakes it."""

from dataclasses import replace

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the one incident becomes the other."""
    group = setting("stopped until messages are lost", variant)
    at = group.begins()
    keeps = group.draw.between(1800.0, 1200.0, 2400.0)
    workload = replace(
        group.workload(None, [SimulatedEvent(at=at, action=lambda run: run.scale(0))]),
        retention_seconds=keeps,
        retention_check_seconds=60.0,
    )
    end = at + 1.5 * HOUR
    return group.scenario(
        workload,
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=at + keeps, status="STOPPED", should_alert=True),
            Truth(begin=at + keeps, end=end, status="LOSING_DATA", should_alert=True),
        ],
    )
