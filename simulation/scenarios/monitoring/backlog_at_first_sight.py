"""Monitoring begins while a group works off an old backlog."""

from dataclasses import replace

import numpy as np

from simulation.model import Backlog
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("catching up at first sight", variant)
    hours = group.draw.between(2.0, 0.5, 4.0)
    backlog = Backlog(
        messages=np.full(group.partitions, hours * HOUR * group.arrival / group.partitions),
        age_seconds=np.full(group.partitions, hours * HOUR),
    )
    spare = group.draw.between(2.0, 1.5, 4.0)
    workload = group.workload(rate_per_second=group.rate_for(spare * group.arrival))
    return group.scenario(
        replace(workload, backlog=backlog),
        HOUR,
        [Truth(begin=0.0, end=HOUR, status="CATCHING_UP", should_alert=False)],
    )
