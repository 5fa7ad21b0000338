"""The handler has become slower: a little less is read than arrives, and it stays so."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the lag grows without end."""
    group = setting("slow growth", variant)
    at = group.begins()
    short = group.draw.between(0.1, 0.05, 0.3)
    factor = (1 - short) * group.arrival / group.capacity
    slower = SimulatedEvent(at=at, action=lambda run: run.set_capacity(factor))
    end = 2 * HOUR
    return group.scenario(
        group.workload(None, [slower], noise=0.05),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=end, status="FALLING_BEHIND", should_alert=True),
        ],
    )
