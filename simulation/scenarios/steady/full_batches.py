"""A group that commits when a number of messages is together, in busy and in quiet times."""

from dataclasses import replace

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("full batches", variant)
    busy = group.draw.between(120.0, 60.0, 400.0)
    size = round(group.arrival / group.partitions * group.draw.between(45.0, 20.0, 60.0))

    def rate(times: Floats) -> Floats:
        return group.arrival * np.where(times % 1800 < busy, 3.0, 0.3)

    def in_batches(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample:
        read = seen.committed or 0
        return replace(seen, committed=read - read % size)

    return group.scenario(group.workload(rate), 2 * HOUR, changes=[in_batches])
