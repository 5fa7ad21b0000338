"""Polls a minute apart of a group that commits once in five minutes."""

from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("slow polls of batch commits", variant, poll=60.0)
    every = group.draw.between(300.0, 200.0, 400.0)
    return group.scenario(group.workload(commit_seconds=every), 3 * HOUR)
