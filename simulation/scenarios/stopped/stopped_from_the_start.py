"""A group that is stopped already when monitoring begins, with messages waiting."""

from dataclasses import replace

import numpy as np

from simulation.model import Backlog, SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nobody consumes."""
    group = setting("stopped at first sight", variant)
    hours = group.draw.between(1.0, 0.1, 8.0)
    backlog = Backlog(
        messages=np.full(group.partitions, hours * HOUR * group.arrival / group.partitions),
        age_seconds=np.full(group.partitions, hours * HOUR),
    )
    stop = SimulatedEvent(at=0.0, action=lambda run: run.scale(0))
    return group.scenario(
        replace(group.workload(None, [stop]), backlog=backlog),
        HOUR,
        [Truth(begin=0.0, end=HOUR, status="STOPPED", should_alert=True)],
    )
