"""A dependency has become slow: a fraction of what arrives is read."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the lag grows fast, and without end."""
    group = setting("collapse of the throughput", variant)
    at = group.begins()
    left = group.draw.between(0.3, 0.05, 0.6)
    factor = left * group.arrival / group.capacity
    end = at + 1.5 * HOUR
    return group.scenario(
        group.workload(None, [SimulatedEvent(at=at, action=lambda run: run.set_capacity(factor))]),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=end, status="FALLING_BEHIND", should_alert=True),
        ],
    )
