"""All consumers hang in a call: members are there, nothing is committed."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting, stalled


def scenario(variant: int) -> Scenario:
    """Return the scenario; the group is stalled until it works again."""
    group = setting("hung group", variant)
    at = group.begins()
    back = at + group.draw.between(1200.0, 600.0, 2400.0)
    events = [
        SimulatedEvent(at=at, action=lambda run: run.freeze(*range(group.partitions))),
        SimulatedEvent(at=back, action=lambda run: run.thaw(*range(group.partitions))),
    ]
    end = back + HOUR
    return group.scenario(
        group.workload(None, events),
        end,
        stalled(at, back, end),
    )
