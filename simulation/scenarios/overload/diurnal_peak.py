"""More arrives at the height of the day than can be processed; the group recovers by itself.

Its days are of a few hours, and what was 24 hours before is not known. So while the group is
overdue it is open whether to alert, as in ``daily_peak``.
"""

from math import pi

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario
from simulation.scenarios.overdue import open_while_overdue
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the group recovers within minutes of delay."""
    group = setting("diurnal peak that recovers", variant)
    day = group.draw.between(2.0, 1.0, 3.0) * HOUR
    swing = group.draw.between(0.5, 0.3, 0.7)
    share = group.draw.between(0.65, 0.55, 0.85)

    def rate(times: Floats) -> Floats:
        return group.arrival * (1 - swing * np.cos(2 * pi * times / day))

    capacity = group.arrival * (1 + share * swing)
    workload = group.workload(rate, rate_per_second=group.rate_for(capacity), noise=0.05)
    return open_while_overdue(group.scenario(workload, 2 * day))
