"""A job that runs every few minutes, reads what has come together, and one time does not come."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; after the last run nobody reads any more."""
    group = setting("frequent job gone", variant, slowest=30.0)
    every = group.draw.between(900.0, 600.0, 1800.0)
    lasts = group.draw.between(240.0, 200.0, 300.0)
    runs = group.draw.one_of(6, 4, 10)
    events = [SimulatedEvent(at=0.0, action=lambda run: run.scale(0))]
    for number in range(1, runs + 1):
        events += [
            SimulatedEvent(at=number * every, action=lambda run: run.scale(group.members)),
            SimulatedEvent(at=number * every + lasts, action=lambda run: run.scale(0)),
        ]
    missed = (runs + 1) * every
    end = missed + 4 * HOUR
    per_second = group.rate_for(4 * group.arrival * every / lasts)
    truth = [
        Truth(begin=0.0, end=missed, status="OK", should_alert=False),
        Truth(begin=missed, end=end, status="STOPPED", should_alert=True),
    ]
    return group.scenario(group.workload(None, events, rate_per_second=per_second), end, truth)
