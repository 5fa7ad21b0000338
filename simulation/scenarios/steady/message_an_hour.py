"""A topic that gets one message an hour."""

from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, flat, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("one message an hour", variant)
    an_hour = group.draw.between(1.0, 0.3, 6.0)
    return group.scenario(group.workload(flat(an_hour / HOUR)), 5 * HOUR)
