"""A rolling deploy: each member is away for minutes, and they go one after the other."""

from dataclasses import replace
from functools import partial

from simulation.interventions import Interventions
from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; for a time nobody may be there, and that is no stop."""
    group = setting("rolling deploy", variant)
    members = group.draw.one_of(3, 2, 4)
    partitions = max(members, group.partitions)
    capacity = group.capacity
    group = replace(group, members=members, partitions=partitions)
    consumers = replace(group.consumers, count=members, rate_per_second=group.rate_for(capacity))
    group = replace(group, consumers=consumers)
    at = group.begins()
    back = group.draw.between(200.0, 120.0, 300.0)
    next_after = group.draw.between(60.0, 45.0, 120.0)

    def restart(slot: int, run: Interventions) -> None:
        run.restart_member(slot, back_after_seconds=back)

    events = [
        SimulatedEvent(at=at + slot * next_after, action=partial(restart, slot))
        for slot in range(members)
    ]
    end = at + 1.5 * HOUR
    return group.scenario(
        group.workload(None, events),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=end, status="CATCHING_UP", should_alert=False),
        ],
    )
