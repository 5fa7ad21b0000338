"""A campaign: for some minutes more arrives than can be processed, then the group recovers.

Few of them make the group overdue. While one does, it is open whether to alert: there is no
yesterday by which to tell it from an overload, and a group is overdue whatever comes after.
"""

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario
from simulation.scenarios.overdue import open_while_overdue
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the delay stays under the ten minutes that nobody minds."""
    group = setting("short peak", variant)
    at = group.begins()
    lasts = group.draw.between(480.0, 120.0, 840.0)
    spare = group.capacity / group.arrival
    factor = spare * group.draw.between(1.4, 1.1, 1.6)

    def rate(times: Floats) -> Floats:
        return group.arrival * np.where((times >= at) & (times < at + lasts), factor, 1.0)

    return open_while_overdue(group.scenario(group.workload(rate), 1.5 * HOUR))
