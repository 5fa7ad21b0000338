"""Arrivals rise for hours until they are far more than the group can process, and stay there."""

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the lag grows without end."""
    group = setting("outgrown", variant, poll=60.0)
    spare = group.capacity / group.arrival
    factor = spare * group.draw.between(1.7, 1.5, 2.0)
    rising = group.draw.between(4.0, 2.0, 6.0) * HOUR

    def rate(times: Floats) -> Floats:
        return group.arrival * (1 + (factor - 1) * np.clip((times - HOUR) / rising, 0.0, 1.0))

    at = HOUR + rising * (spare - 1) / (factor - 1)
    end = HOUR + rising + 3 * HOUR
    return group.scenario(
        group.workload(rate),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=end, status="FALLING_BEHIND", should_alert=True),
        ],
    )
