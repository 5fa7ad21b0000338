"""A group that keeps up."""

from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("steady", variant)
    return group.scenario(group.workload(), HOUR)
