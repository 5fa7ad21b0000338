"""A compacted topic: most offsets are gone, so that reading jumps over thousands at once."""

from dataclasses import replace

import numpy as np

from simulation.model import Backlog
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; a restored table is read again, fast."""
    group = setting("compacted topic", variant)
    keys = group.draw.between(100_000.0, 20_000.0, 400_000.0)
    gone = group.draw.between(20.0, 5.0, 100.0)
    backlog = Backlog(
        messages=np.full(group.partitions, keys * gone / group.partitions),
        age_seconds=np.full(group.partitions, 6 * HOUR),
    )
    workload = group.workload(
        rate_per_second=group.consumers.rate_per_second + group.rate_for(keys * gone / 400)
    )
    return group.scenario(replace(workload, backlog=backlog), HOUR)
