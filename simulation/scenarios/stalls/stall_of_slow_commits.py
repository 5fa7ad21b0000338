"""A group that commits once in some minutes hangs: its pause becomes longer than any before."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the group is stalled."""
    group = setting("stall of a group with slow commits", variant)
    every = group.draw.between(120.0, 60.0, 240.0)
    at = group.begins(1800.0)
    event = SimulatedEvent(at=at, action=lambda run: run.freeze(*range(group.partitions)))
    end = at + 1.5 * HOUR
    return group.scenario(
        group.workload(None, [event], commit_seconds=every),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=end, status="STALLED", should_alert=True),
        ],
    )
