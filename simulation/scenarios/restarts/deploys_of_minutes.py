"""Deploys in which nobody is there for two to five minutes, several in an hour or two."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the first may be a stop, the others are known by then."""
    group = setting("deploys of minutes", variant)
    at = group.begins()
    usual = group.draw.between(180.0, 120.0, 300.0)
    spare = group.draw.between(2.0, 1.6, 4.0)
    events, aways = [], []
    for _ in range(3):
        away = min(300.0, max(120.0, usual * group.draw.between(1.0, 0.9, 1.1)))
        aways.append((at, at + away))
        events += [
            SimulatedEvent(at=at, action=lambda run: run.scale(0)),
            SimulatedEvent(at=at + away, action=lambda run: run.scale(group.members)),
        ]
        at += group.draw.between(0.4, 0.3, 0.6) * HOUR
    first, back = aways[0]
    end = aways[-1][1] + HOUR
    workload = group.workload(
        None, events, rate_per_second=group.rate_for(spare * group.arrival), start_seconds=5.0
    )
    return group.scenario(
        workload,
        end,
        [
            Truth(begin=0.0, end=first, status="OK", should_alert=False),
            Truth(begin=first, end=back, status="STOPPED", should_alert=None),
            Truth(begin=back, end=end, status="CATCHING_UP", should_alert=False),
        ],
    )
