"""The monitor is away for ten minutes in the middle of a stall."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting, stalled


def scenario(variant: int) -> Scenario:
    """Return the scenario; one incident, notified once."""
    group = setting("monitor outage within a stall", variant)
    at = group.begins()
    back = at + 2400.0
    away = at + group.draw.between(300.0, 30.0, 900.0)

    def missing(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample | None:
        return None if away <= seen.t < away + 600.0 else seen

    every = range(group.partitions)
    events = [
        SimulatedEvent(at=at, action=lambda run: run.freeze(*every)),
        SimulatedEvent(at=back, action=lambda run: run.thaw(*every)),
    ]
    end = back + HOUR
    return group.scenario(
        group.workload(None, events),
        end,
        stalled(at, back, end),
        changes=[missing],
    )
