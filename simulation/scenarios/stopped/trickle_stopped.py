"""The only consumer of a topic with a message a minute leaves."""

from dataclasses import replace

from simulation.interventions import Interventions
from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nobody consumes, and few messages show it."""
    return trickle("trickle, stopped", variant, "STOPPED")


def trickle(name: str, variant: int, status: str) -> Scenario:
    """Return a scenario of a group that stops, or hangs, where hardly anything arrives."""
    group = setting(name, variant)
    group = replace(group, partitions=1, members=1, arrival=group.draw.between(1 / 60, 1 / 90, 0.1))
    at = group.begins(3600.0)
    end = at + 1.5 * HOUR

    def breaks(run: Interventions) -> None:
        if status == "STOPPED":
            run.scale(0)
        else:
            run.freeze(0)

    return group.scenario(
        group.workload(None, [SimulatedEvent(at=at, action=breaks)], count=1, rate_per_second=1.0),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=end, status=status, should_alert=True),
        ],
    )
