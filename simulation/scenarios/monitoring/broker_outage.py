"""A broker does not answer for a while: nothing is known of its partitions, or of the group."""

from dataclasses import replace

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, ScenarioSample, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; that a broker is away is reported by the brokers' alerts."""
    group = setting("broker outage", variant)
    at = group.begins()
    back = at + group.draw.between(420.0, 60.0, 900.0)
    every = group.draw.one_of(3, 1, 2)
    is_coordinator = group.draw.one_of(False, True)
    away = [number for number in range(group.partitions) if number % every == 0]

    def unread(_topic: str, partition: int, seen: ScenarioSample) -> ScenarioSample:
        if not at <= seen.t < back:
            return seen
        if partition in away:
            seen = replace(seen, log_start=None, log_end=None)
        if is_coordinator:
            seen = replace(seen, committed=None, members=None, assigned=None, state=None)
        return seen

    events = [
        SimulatedEvent(at=at, action=lambda run: run.freeze(*away)),
        SimulatedEvent(at=back, action=lambda run: run.thaw(*away)),
    ]
    return group.scenario(
        group.workload(None, events),
        HOUR,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=back, status="UNKNOWN", should_alert=False),
            Truth(begin=back, end=HOUR, status="CATCHING_UP", should_alert=False),
        ],
        changes=[unread],
    )
