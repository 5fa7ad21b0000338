"""The monitor's clock jumps ahead, and polls come at odd times."""

from dataclasses import replace

from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("clock skew", variant)
    at = group.begins()
    ahead = group.draw.between(240.0, 30.0, 1800.0)
    jitter = group.poll_seconds * 0.3

    def skewed(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample:
        late = jitter * (round(seen.t / group.poll_seconds) * 7 % 5) / 5
        return replace(seen, t=seen.t + late + (ahead if seen.t > at else 0.0))

    return group.scenario(group.workload(), HOUR, changes=[skewed])
