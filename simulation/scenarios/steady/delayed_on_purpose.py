"""Each message is processed some time after it arrived: a retry topic, a window."""

from dataclasses import replace

from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the lag is meant, and it does not grow."""
    group = setting("delayed on purpose", variant)
    delay = group.draw.between(120.0, 20.0, 240.0)

    def delayed(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample:
        waits = round(delay * group.arrival / group.partitions)
        return replace(seen, committed=max(0, (seen.committed or 0) - waits))

    return group.scenario(group.workload(), 1.5 * HOUR, changes=[delayed])
