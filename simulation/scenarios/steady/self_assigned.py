"""Consumers that assign their partitions themselves: commits without a member."""

from dataclasses import replace

from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("self-assigned", variant)

    def alone(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample:
        return replace(seen, members=0, assigned=False, state="Empty")

    return group.scenario(group.workload(), 2 * HOUR, changes=[alone])
