"""A group is late when somebody deletes it: there is nobody left to be late."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("deleted while late", variant)
    at = group.begins(1800.0)
    late_from = at - group.draw.between(40.0, 20.0, 60.0)

    def deleted(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample | None:
        return None if seen.t >= at else seen

    event = SimulatedEvent(at=late_from, action=lambda run: run.freeze(*range(group.partitions)))
    return group.scenario(group.workload(None, [event]), 1.5 * HOUR, changes=[deleted])
