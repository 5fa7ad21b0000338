"""A stopped group that is seen first when retention has overtaken it already."""

from dataclasses import replace

from simulation.scenarios.model import Scenario, ScenarioSample, Truth
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; messages are lost from the first poll on."""
    group = setting("overtaken while stopped", variant)
    lost = round(group.draw.between(500.0, 10.0, 100_000.0))

    def overtaken(_topic: str, _partition: int, seen: ScenarioSample) -> ScenarioSample:
        ahead = 10 * lost
        start = round(lost + seen.t * group.arrival / group.partitions)
        return replace(
            seen,
            committed=0,
            log_start=start,
            log_end=start + ahead,
            members=0,
            assigned=False,
            state="Empty",
        )

    return group.scenario(
        group.workload(),
        HOUR,
        [Truth(begin=0.0, end=HOUR, status="LOSING_DATA", should_alert=True)],
        changes=[overtaken],
    )
