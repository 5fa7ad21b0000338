"""A group that is seen first with a single commit, and reads a topic where little happens."""

from dataclasses import replace

import numpy as np

from simulation.model import Floats
from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("first seen with one commit", variant)
    stops = group.draw.one_of(30.0, 10.0, 60.0)
    more_at = group.begins(1200.0)

    def rate(times: Floats) -> Floats:
        return np.where(
            (times < stops) | ((times > more_at) & (times < more_at + 5)), group.arrival, 0.0
        )

    def no_commit_yet(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample:
        return replace(seen, committed=None) if seen.t < stops else seen

    return group.scenario(group.workload(rate), HOUR, changes=[no_commit_yet])
