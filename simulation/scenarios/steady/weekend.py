"""Nothing arrives for half a day, then work goes on."""

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("weekend", variant, poll=60.0)
    begins = group.begins(HOUR)
    ends = begins + group.draw.between(12.0, 6.0, 24.0) * HOUR

    def rate(times: Floats) -> Floats:
        return group.arrival * np.where((times < begins) | (times >= ends), 1.0, 0.0)

    return group.scenario(group.workload(rate), ends + HOUR)
