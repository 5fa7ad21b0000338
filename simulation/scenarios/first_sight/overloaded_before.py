"""More arrives than can be processed, and the group is late already when monitoring begins."""

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, seen_from, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the lag grows without end."""
    group = setting("overloaded before first sight", variant)
    at = group.begins()
    spare = group.capacity / group.arrival
    more = group.draw.between(1.4, 1.2, 3.0)

    def rate(times: Floats) -> Floats:
        return group.arrival * np.where(times < at, 1.0, spare * more)

    # It is six minutes late and more by then.
    begin = at + group.draw.between(1.2, 1.0, 4.0) * 360.0 * more / (more - 1)
    end = begin + HOUR
    truth = Truth(begin=at, end=end, status="FALLING_BEHIND", should_alert=True)
    return seen_from(begin, group.scenario(group.workload(rate), end, [truth]))
