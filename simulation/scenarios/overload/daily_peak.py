"""A whole day whose peak is more than can be processed: minutes late, and on time at night.

No yesterday is known. So while the group is overdue it is open whether to alert: only a season that
is known, and ends today as yesterday, is no alarm; until then it looks like a rise that stays.
"""

from math import pi

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario
from simulation.scenarios.overdue import open_while_overdue
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the group recovers by itself."""
    group = setting("daily peak", variant, poll=60.0)
    swing = group.draw.between(0.5, 0.4, 0.7)
    spare = group.draw.between(0.93, 0.92, 0.96)

    def rate(times: Floats) -> Floats:
        return group.arrival * (1 - swing * np.cos(2 * pi * times / (24 * HOUR)))

    capacity = spare * group.arrival * (1 + swing)
    workload = group.workload(rate, rate_per_second=group.rate_for(capacity), noise=0.05)
    return open_while_overdue(group.scenario(workload, 24 * HOUR))
