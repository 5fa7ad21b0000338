"""One of the members is too slow for its share: its partitions fall behind, the others do not."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the lag of that member's partitions grows without end."""
    group = setting("one slow member", variant)
    at = group.begins()
    factor = group.arrival / group.capacity * group.draw.between(0.6, 0.3, 0.8)
    slower = SimulatedEvent(at=at, action=lambda run: run.set_member_capacity(0, factor))
    end = 2 * HOUR
    return group.scenario(
        group.workload(None, [slower]),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=end, status="FALLING_BEHIND", should_alert=True),
        ],
    )
