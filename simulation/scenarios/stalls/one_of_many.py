"""One partition of many stands still; all the others hide it in the group's rates."""

from dataclasses import replace

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting, stalled


def scenario(variant: int) -> Scenario:
    """Return the scenario; the partition is stalled until somebody removes the message."""
    group = setting("one of fifty partitions stuck", variant, slowest=200.0, poll=30.0)
    group = replace(group, partitions=50)
    at = group.begins()
    back = at + group.draw.between(1200.0, 900.0, 1800.0)
    which = group.draw.one_of(31, 0, 49)
    events = [
        SimulatedEvent(at=at, action=lambda run: run.freeze(which)),
        SimulatedEvent(at=back, action=lambda run: run.thaw(which)),
    ]
    end = back + HOUR / 2
    return group.scenario(
        group.workload(None, events),
        end,
        stalled(at, back, end),
    )
