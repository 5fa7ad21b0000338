"""A group that commits once in a quarter of an hour, first seen between two of its commits."""

from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("commits a quarter of an hour apart", variant)
    every = group.draw.between(900.0, 700.0, 1100.0)
    return group.scenario(group.workload(commit_seconds=every), 2 * HOUR)
