"""The group stops for good, and its offsets are deleted."""

from dataclasses import replace

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("deleted group", variant)
    at = group.begins()
    is_missing = group.draw.one_of(False, True)
    events = [
        SimulatedEvent(at=at, action=lambda run: run.scale(0)),
        SimulatedEvent(at=at + 20, action=lambda run: run.forget_offsets()),
    ]

    def gone(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample | None:
        if seen.t <= at + 20:
            return seen
        return None if is_missing else replace(seen, committed=None, members=0, state="Dead")

    return group.scenario(group.workload(None, events), HOUR, changes=[gone])
