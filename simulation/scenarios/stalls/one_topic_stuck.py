"""A group reads two topics, and one of them stands still."""

from dataclasses import replace

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the other topic's commits do not hide it."""
    group = setting("one of two topics stuck", variant)
    at = group.begins()
    end = at + HOUR
    count = group.partitions
    workload = replace(
        group.workload(
            None, [SimulatedEvent(at=at, action=lambda run: run.freeze(*range(count, 2 * count)))]
        ),
        topics={"orders": count, "payments": count},
    )
    return group.scenario(
        workload,
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=end, status="STALLED", should_alert=True),
        ],
    )
