"""A group that commits once in some minutes, when it has written a batch elsewhere."""

from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("batch commits", variant)
    every = group.draw.between(240.0, 60.0, 540.0)
    return group.scenario(group.workload(commit_seconds=every), 2 * HOUR)
