"""The lag swings around a thousand messages: the threshold of many rules."""

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("flapping around a threshold", variant)
    arrival = group.draw.between(600.0, 200.0, 3000.0)
    every = group.draw.between(180.0, 60.0, 400.0)
    spare = 1.3
    # As many above the capacity, in a third of the time, as make the lag swing up to 1,500.
    lasts = every / 4
    height = arrival * spare + 1500.0 / lasts

    def rate(times: Floats) -> Floats:
        return np.where(times % every < lasts, height, arrival * 0.7)

    return group.scenario(
        group.workload(rate, rate_per_second=group.rate_for(arrival * spare), noise=0.05), HOUR
    )
