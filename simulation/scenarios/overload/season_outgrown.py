"""A season that passes within what can be processed, until a day brings far more."""

from math import pi

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; on the third day the group is late before noon and stays it."""
    group = setting("season outgrown", variant, poll=60.0)
    swing = group.draw.between(0.5, 0.4, 0.7)
    more = group.draw.between(1.4, 1.3, 1.6)
    capacity = 1.08 * group.arrival * (1 + swing)

    def factors(times: Floats) -> Floats:
        daily = 1 - swing * np.cos(2 * pi * times / (24 * HOUR))
        return daily * np.where(times < 48 * HOUR, 1.0, more)

    third = np.arange(48 * HOUR, 64 * HOUR, 60.0)
    late = third[np.argmax(group.arrival * factors(third) > capacity)]
    end = 64 * HOUR
    return group.scenario(
        group.workload(
            lambda times: group.arrival * factors(times),
            rate_per_second=group.rate_for(capacity),
            noise=0.05,
        ),
        end,
        [
            Truth(begin=0.0, end=float(late), status="OK", should_alert=False),
            Truth(begin=float(late), end=end, status="FALLING_BEHIND", should_alert=True),
        ],
    )
