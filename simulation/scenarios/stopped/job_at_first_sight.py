"""A job that is seen first while it runs, and then not until its next run in a day."""

from dataclasses import replace

import numpy as np

from simulation.model import Backlog, SimulatedEvent
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("job at first sight", variant, poll=60.0)
    lasts = group.draw.between(1800.0, 1200.0, 3600.0)
    arrival = min(group.arrival, 50.0)
    backlog = Backlog(
        messages=np.full(group.partitions, arrival * 20 * HOUR / group.partitions),
        age_seconds=np.full(group.partitions, 20 * HOUR),
    )
    per_second = group.rate_for(4 * arrival * 24 * HOUR / lasts)
    workload = group.workload(
        lambda times: 0.0 * times + arrival,
        [SimulatedEvent(at=lasts, action=lambda run: run.scale(0))],
        rate_per_second=per_second,
    )
    return group.scenario(replace(workload, backlog=backlog), 20 * HOUR)
