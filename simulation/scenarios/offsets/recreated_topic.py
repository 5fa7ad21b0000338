"""The topic is deleted and made anew: offsets begin at zero again."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("recreated topic", variant)
    event = SimulatedEvent(at=group.begins(), action=lambda run: run.recreate_topics())
    return group.scenario(group.workload(None, [event]), HOUR)
