"""The consumers start, crash before they commit, and start again."""

from dataclasses import replace

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, ScenarioSample, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is read, though members come again and again."""
    group = setting("crash loop", variant)
    at = group.begins()
    each = group.draw.between(30.0, 15.0, 60.0)
    end = at + HOUR

    def crashing(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample:
        if seen.t < at or (seen.t - at) % (2 * each) < each:
            return seen
        return replace(seen, members=group.members, assigned=True, state="Stable")

    return group.scenario(
        group.workload(None, [SimulatedEvent(at=at, action=lambda run: run.scale(0))]),
        end,
        [
            Truth(begin=0.0, end=at, status="OK", should_alert=False),
            Truth(begin=at, end=end, status="STALLED", should_alert=True),
        ],
        changes=[crashing],
    )
