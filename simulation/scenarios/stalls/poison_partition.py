"""One partition stands still behind a message that cannot be processed."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting, stalled


def scenario(variant: int) -> Scenario:
    """Return the scenario; the partition is stalled until somebody removes the message."""
    group = setting("poison partition", variant)
    at = group.begins()
    back = at + group.draw.between(1200.0, 600.0, 2400.0)
    which = group.draw.one_of(0, group.partitions - 1)
    events = [
        SimulatedEvent(at=at, action=lambda run: run.freeze(which)),
        SimulatedEvent(at=back, action=lambda run: run.thaw(which)),
    ]
    end = back + HOUR
    return group.scenario(
        group.workload(None, events),
        end,
        stalled(at, back, end),
    )
