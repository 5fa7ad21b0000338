"""A campaign: for some minutes more arrives than can be processed, then the group recovers."""

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the delay stays under the ten minutes that nobody minds."""
    group = setting("short peak", variant)
    at = group.begins()
    lasts = group.draw.between(480.0, 120.0, 840.0)
    spare = group.consumers.rate_per_second * group.members / group.arrival
    factor = spare * group.draw.between(1.4, 1.1, 1.6)

    def rate(times: Floats) -> Floats:
        return group.arrival * np.where((times >= at) & (times < at + lasts), factor, 1.0)

    end = 1.5 * HOUR
    return group.scenario(
        group.workload(rate), end, [Truth(begin=0.0, end=end, status="OK", should_alert=False)]
    )
