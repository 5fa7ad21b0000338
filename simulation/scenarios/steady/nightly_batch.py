"""A job that runs once a night, reads what has come together, and ends."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("nightly batch", variant, poll=60.0)
    first = group.draw.between(600.0, 300.0, 7200.0)
    every = group.draw.one_of(24 * HOUR, 12 * HOUR, 6 * HOUR)
    lasts = group.draw.between(1800.0, 1200.0, 3600.0)
    arrival = min(group.arrival, 50.0)
    nights = 2
    events = [SimulatedEvent(at=0.0, action=lambda run: run.scale(0))]
    for night in range(nights):
        at = first + night * every
        events += [
            SimulatedEvent(at=at, action=lambda run: run.scale(group.members)),
            SimulatedEvent(at=at + lasts, action=lambda run: run.scale(0)),
        ]
    per_second = group.rate_for(4 * arrival * every / lasts)
    return group.scenario(
        group.workload(lambda times: 0.0 * times + arrival, events, rate_per_second=per_second),
        first + nights * every - HOUR / 2,
    )
