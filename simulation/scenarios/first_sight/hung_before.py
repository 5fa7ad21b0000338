"""A group has hung for half an hour or so when monitoring begins."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, seen_from, setting, stalled


def scenario(variant: int) -> Scenario:
    """Return the scenario; members are there, and nothing is committed until it works again."""
    group = setting("hung before first sight", variant)
    at = group.begins()
    every = range(group.partitions)
    begin = at + group.draw.between(1800.0, 1300.0, 4 * HOUR)
    back = begin + HOUR
    events = [
        SimulatedEvent(at=at, action=lambda run: run.freeze(*every)),
        SimulatedEvent(at=back, action=lambda run: run.thaw(*every)),
    ]
    end = back + HOUR
    return seen_from(
        begin, group.scenario(group.workload(None, events), end, stalled(at, back, end))
    )
