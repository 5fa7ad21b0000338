"""Committed offsets go back while the group works: a seek in the code, or a backup restored."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; everything is processed a second time."""
    group = setting("reset by mistake", variant)
    at = group.begins()
    spare = group.draw.between(2.0, 1.5, 4.0)
    event = SimulatedEvent(at=at, action=lambda run: run.reset_offsets("earliest"))
    end = at + HOUR
    return group.scenario(
        group.workload(None, [event], rate_per_second=group.rate_for(spare * group.arrival)),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=at + at / (spare - 1), status="REWOUND", should_alert=True),
            Truth(begin=at + at / (spare - 1), end=end, status="OK", should_alert=False),
        ],
    )
