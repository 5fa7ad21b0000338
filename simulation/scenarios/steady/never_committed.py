"""Of some partitions nothing was ever committed: nothing ever arrived in them."""

from dataclasses import replace

import numpy as np

from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("never committed", variant)
    idle = group.draw.one_of(2, 1, 5)
    count = group.partitions + idle
    weights = np.where(np.arange(count) < group.partitions, 1.0, 0.0)
    # Those that get nothing are shared out as well: each member must be able to do the work alone.
    alone = group.workload(rate_per_second=2 * group.arrival)
    workload = replace(alone, topics={"orders": count}, weights=weights)

    def untouched(_topic: str, partition: int, seen: ScenarioSample) -> ScenarioSample:
        return seen if partition < group.partitions else replace(seen, committed=None)

    return group.scenario(workload, HOUR, changes=[untouched])
