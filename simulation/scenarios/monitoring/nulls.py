"""Any value of any poll may be missing: a monitor with few rights on a busy cluster."""

from dataclasses import replace

import numpy as np

from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting

_VALUES = ("log_start", "log_end", "committed", "members", "assigned", "state")


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong with the group."""
    group = setting("nulls here and there", variant)
    share = group.draw.between(0.15, 0.05, 0.4)
    rng = np.random.default_rng(variant)

    def holes(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample | None:
        gone = {name: None for name in _VALUES if rng.random() < share}
        return None if rng.random() < share / 4 else replace(seen, **gone)  # type: ignore[arg-type]

    return group.scenario(group.workload(), HOUR, changes=[holes])
