"""Retention deletes what a slow group has not read."""

from dataclasses import replace

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, observe, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; from the first message lost the group loses more and more."""
    group = setting("behind log start", variant)
    at = group.begins()
    keeps = group.draw.between(1200.0, 600.0, 1800.0)
    factor = group.draw.between(0.3, 0.1, 0.5) * group.arrival / group.capacity
    slower = SimulatedEvent(at=at, action=lambda run: run.set_capacity(factor))
    workload = replace(
        group.workload(None, [slower]), retention_seconds=keeps, retention_check_seconds=60.0
    )
    end = 2 * HOUR
    seen = observe(workload, group.draw.seed, 5.0, end)
    lost = next(one.at for one in seen if (one.log_start > one.committed).any())
    return group.scenario(
        workload,
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=lost, status="FALLING_BEHIND", should_alert=True),
            Truth(begin=lost, end=end, status="LOSING_DATA", should_alert=True),
        ],
    )
