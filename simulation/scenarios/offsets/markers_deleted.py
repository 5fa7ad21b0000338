"""Retention deletes the last marker of a transaction, too: the log starts behind every commit."""

from dataclasses import replace

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; no message is lost."""
    group = setting("markers deleted", variant)
    markers = group.draw.one_of(1, 2)
    deleted_at = group.begins(2400.0)

    def rate(times: Floats) -> Floats:
        return group.arrival * np.where(times < deleted_at / 2, 1.0, 0.0)

    def marked(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample:
        end = (seen.log_end or 0) + markers
        return replace(seen, log_end=end, log_start=end if seen.t >= deleted_at else seen.log_start)

    return group.scenario(group.workload(rate), 1.5 * HOUR, changes=[marked])
