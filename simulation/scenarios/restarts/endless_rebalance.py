"""The group shares its partitions out anew, over and over, and gets nowhere."""

from dataclasses import replace

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, ScenarioSample, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; the group is stalled."""
    group = setting("endless rebalance", variant)
    at = group.begins()
    every = range(group.partitions)
    event = SimulatedEvent(at=at, action=lambda run: run.freeze(*every))

    def rebalancing(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample:
        if seen.t < at:
            return seen
        return replace(seen, state="PreparingRebalance", assigned=False)

    return group.scenario(
        group.workload(None, [event]),
        HOUR,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=HOUR, status="STALLED", should_alert=True),
        ],
        changes=[rebalancing],
    )
