"""Messages come in bursts that are worked off within the minute."""

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("bursty", variant)
    every = group.draw.between(300.0, 120.0, 900.0)
    lasts = group.draw.between(20.0, 5.0, 40.0)
    height = group.draw.between(4.0, 2.0, 6.0)

    def rate(times: Floats) -> Floats:
        return group.arrival * np.where(times % every < lasts, height, 0.5)

    return group.scenario(group.workload(rate), HOUR)
