"""An idle topic whose last offsets are what aborted transactions left: nobody commits them."""

from dataclasses import replace

import numpy as np

from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("leftovers at the end", variant)
    left = group.draw.one_of(3, 5, 8)

    def with_left(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample:
        return replace(seen, log_end=(seen.log_end or 0) + left)

    return group.scenario(
        group.workload(lambda times: np.zeros(times.shape)), HOUR, changes=[with_left]
    )
