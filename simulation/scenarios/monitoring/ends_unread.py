"""Log ends cannot be read for several polls, now and then."""

from dataclasses import replace

from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong with the group."""
    group = setting("ends unread", variant)
    every = group.draw.between(900.0, 400.0, 1800.0)
    lasts = group.draw.between(4.0, 1.0, 8.0) * group.poll_seconds
    some = group.draw.one_of(1, 2, 3)

    def unread(_topic: str, partition: int, seen: ScenarioSample) -> ScenarioSample:
        is_away = seen.t % every < lasts and partition % some == 0
        return replace(seen, log_start=None, log_end=None) if is_away else seen

    return group.scenario(group.workload(), 2 * HOUR, changes=[unread])
