"""A group hangs whose members cannot be read: only its commits tell."""

from dataclasses import replace

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, ScenarioSample, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is read, whoever ought to."""
    group = setting("hung group, members unknown", variant)
    at = group.begins()
    end = at + HOUR

    def untold(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample:
        return replace(seen, members=None, assigned=None, state=None)

    return group.scenario(
        group.workload(
            None, [SimulatedEvent(at=at, action=lambda run: run.freeze(*range(group.partitions)))]
        ),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=end, status="STALLED", should_alert=True),
        ],
        changes=[untold],
    )
