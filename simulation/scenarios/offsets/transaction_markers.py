"""Transactions end with a marker that no consumer ever commits: the lag stays at one or two."""

from dataclasses import replace

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("transaction markers", variant)
    markers = group.draw.one_of(1, 2)
    idle_from = group.draw.one_of(1200.0, 0.0, 9000.0)
    is_empty_first = group.draw.one_of(False, True)

    def rate(times: Floats) -> Floats:
        return group.arrival * np.where(times < idle_from, 1.0, 0.0)

    def marked(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample:
        end = seen.log_end or 0
        if is_empty_first and not end:
            return seen
        return replace(seen, log_end=end + markers)

    return group.scenario(group.workload(rate), HOUR, changes=[marked])
