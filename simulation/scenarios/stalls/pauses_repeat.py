"""The group pauses for two minutes every ten, as it cleans up or waits for a dump, and goes on."""

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the first pause may be a stall, the others are known by then."""
    group = setting("pauses that repeat", variant)
    at = group.begins()
    every = group.draw.between(600.0, 480.0, 900.0)
    usual = group.draw.between(120.0, 90.0, 150.0)
    spare = group.draw.between(2.0, 1.6, 4.0)
    end = at + 2 * HOUR
    pauses = []
    while at < end - every:
        pauses.append((at, at + usual * group.draw.between(1.0, 0.85, 1.15)))
        at += every
    partitions = range(group.partitions)
    events = [
        event
        for begin, back in pauses
        for event in (
            SimulatedEvent(at=begin, action=lambda run: run.freeze(*partitions)),
            SimulatedEvent(at=back, action=lambda run: run.thaw(*partitions)),
        )
    ]
    begin, back = pauses[0]
    return group.scenario(
        group.workload(None, events, rate_per_second=group.rate_for(spare * group.arrival)),
        end,
        [
            Truth(begin=0.0, end=begin, status="OK", should_alert=False),
            Truth(begin=begin, end=back, status="STALLED", should_alert=None),
            Truth(begin=back, end=end, status="OK", should_alert=False),
        ],
    )
