"""Twice as much arrives as before and does not stop: more than the group can process."""

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the lag grows without end."""
    group = setting("overload", variant)
    at = group.begins()
    spare = group.capacity / group.arrival
    factor = spare * group.draw.between(1.4, 1.2, 3.0)

    def rate(times: Floats) -> Floats:
        return group.arrival * np.where(times < at, 1.0, factor)

    end = 2 * HOUR
    return group.scenario(
        group.workload(rate),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=end, status="FALLING_BEHIND", should_alert=True),
        ],
    )
