"""The consumers start, commit a little of what waits, crash, and start again."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; each time less is read than has come."""
    group = setting("crash loop that commits", variant, slowest=30.0)
    at = group.begins()
    there = group.draw.between(30.0, 25.0, 90.0)
    away = there * group.draw.between(2.0, 1.2, 2.2)
    end = at + 1.5 * HOUR
    events = []
    begin = at
    while begin < end:
        events += [
            SimulatedEvent(at=begin, action=lambda run: run.scale(0)),
            SimulatedEvent(at=begin + away, action=lambda run: run.scale(group.members)),
        ]
        begin += away + there
    workload = group.workload(
        None, events, rate_per_second=group.rate_for(1.4 * group.arrival), commit_seconds=5.0
    )
    truth = [
        Truth(begin=0.0, end=at, status="OK", should_alert=False),
        Truth(begin=at, end=end, status="FALLING_BEHIND", should_alert=True),
    ]
    return group.scenario(workload, end, truth)
