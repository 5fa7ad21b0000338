"""End offsets go backwards: an unclean election took the newest messages away."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong with the group."""
    group = setting("end offsets going backwards", variant)
    seconds = group.draw.between(20.0, 5.0, 120.0)
    lost = group.arrival * seconds / group.partitions
    event = SimulatedEvent(at=group.begins(), action=lambda run: run.cut_log(lost))
    return group.scenario(group.workload(None, [event]), HOUR)
