"""A cluster that does not tell members or state; the group keeps up."""

from dataclasses import replace

from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("members unknown", variant)

    def untold(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample:
        return replace(seen, members=None, assigned=None, state=None)

    return group.scenario(group.workload(), HOUR, changes=[untold])
