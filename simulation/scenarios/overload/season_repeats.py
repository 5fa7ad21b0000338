"""Three days of one season whose peak is more than can be processed, each like the one before.

On the first day no yesterday is known: while the group is overdue it is open whether to alert, as
in ``daily_peak``. From the second on an alert is false.
"""

from math import pi

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario
from simulation.scenarios.overdue import open_while_overdue
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the group recovers by itself every day."""
    group = setting("season that repeats", variant, poll=60.0)
    swing = group.draw.between(0.5, 0.4, 0.7)
    spare = group.draw.between(0.94, 0.93, 0.96)

    def rate(times: Floats) -> Floats:
        return group.arrival * (1 - swing * np.cos(2 * pi * times / (24 * HOUR)))

    capacity = spare * group.arrival * (1 + swing)
    workload = group.workload(rate, rate_per_second=group.rate_for(capacity), noise=0.05)
    return open_while_overdue(group.scenario(workload, 66 * HOUR), until=24 * HOUR)
