"""The last consumer leaves; the number of members cannot be read, the group's state can."""

from dataclasses import replace

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, ScenarioSample, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nobody consumes."""
    group = setting("stopped, seen by the state alone", variant)
    at = group.begins()
    end = at + HOUR

    def untold(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample:
        return replace(seen, members=None, assigned=None)

    return group.scenario(
        group.workload(None, [SimulatedEvent(at=at, action=lambda run: run.scale(0))]),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=end, status="STOPPED", should_alert=True),
        ],
        changes=[untold],
    )
