"""A consumer crashes: its partitions wait until its session ends, then the others take over."""

from dataclasses import replace

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the group helps itself."""
    group = setting("lost member", variant)
    group = replace(group, members=3, partitions=max(3, group.partitions))
    at = group.begins()
    event = SimulatedEvent(at=at, action=lambda run: run.lose_member(0, back_after_seconds=60.0))
    spare = group.draw.between(2.5, 2.0, 4.0)
    return group.scenario(
        group.workload(
            None, [event], count=3, rate_per_second=spare * group.arrival / 3, session_seconds=30.0
        ),
        HOUR,
    )
