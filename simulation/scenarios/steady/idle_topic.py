"""A topic that gets nothing, with all of it read."""

import numpy as np

from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("idle topic", variant)
    until = group.draw.one_of(600.0, 0.0, 60.0)
    quiet = group.workload(lambda times: np.where(times < until, group.arrival, 0.0))
    return group.scenario(quiet, HOUR)
