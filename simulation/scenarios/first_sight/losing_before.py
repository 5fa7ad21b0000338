"""Retention deletes what a slow group has not read, already when monitoring begins."""

from dataclasses import replace

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, seen_from, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; at each deletion the group loses more."""
    group = setting("losing before first sight", variant)
    keeps = group.draw.between(1200.0, 600.0, 1800.0)
    left = group.draw.between(0.3, 0.1, 0.5)
    factor = left * group.arrival / group.capacity
    slower = SimulatedEvent(at=60.0, action=lambda run: run.set_capacity(factor))
    workload = replace(
        group.workload(None, [slower]), retention_seconds=keeps, retention_check_seconds=60.0
    )
    begin = 60.0 + keeps / (1 - left) * group.draw.between(1.5, 1.3, 2.0)
    end = begin + HOUR
    truth = Truth(begin=begin, end=end, status="LOSING_DATA", should_alert=True)
    return seen_from(begin, group.scenario(workload, end, [truth]))
