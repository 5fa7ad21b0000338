"""The only consumer of a topic with a message a minute hangs."""

from dataclasses import replace

from simulation.model import Event
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the group is stalled, and few messages show it."""
    group = setting("trickle, hung", variant)
    group = replace(group, partitions=1, members=1, arrival=group.draw.between(1 / 60, 1 / 90, 0.1))
    at = group.begins(3600.0)
    end = at + 1.5 * HOUR
    return group.scenario(
        group.workload(None, [Event(at, lambda run: run.freeze(0))], count=1, rate_per_second=1.0),
        end,
        [Truth(0.0, at, "OK", False), Truth(at, end, "STALLED", True)],
    )
