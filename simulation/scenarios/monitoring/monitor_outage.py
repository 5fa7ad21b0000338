"""The monitor itself is away for some minutes: polls are missing, the group works on."""

from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong with the group."""
    group = setting("monitor outage", variant)
    at = group.begins()
    back = at + group.draw.between(600.0, 120.0, 1500.0)
    other = group.draw.one_of(None, 7, 3)

    def missing(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample | None:
        if at <= seen.t < back:
            return None
        is_lost = other and round(seen.t / group.poll_seconds) % other == 1
        return None if is_lost and seen.t > back else seen

    return group.scenario(group.workload(), HOUR, changes=[missing])
