"""The topic is made anew while all consumers hang: their offsets lie beyond its end."""

from dataclasses import replace

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting, stalled


def scenario(variant: int) -> Scenario:
    """Return the scenario; the group is stalled until it works again."""
    group = setting("recreated and hung", variant)
    at = group.begins(3600.0)
    back = at + group.draw.between(2400.0, 1800.0, 3600.0)
    events = [
        SimulatedEvent(at=at, action=lambda run: run.freeze(*range(group.partitions))),
        SimulatedEvent(at=at, action=lambda run: run.recreate_topics()),
        SimulatedEvent(at=back, action=lambda run: run.thaw(*range(group.partitions))),
    ]
    last: dict[int, int | None] = {}

    def as_before(_: str, partition: int, sample: ScenarioSample) -> ScenarioSample:
        if at <= sample.t <= back:
            return replace(sample, committed=last[partition])
        last[partition] = sample.committed
        return sample

    end = back + HOUR
    return group.scenario(
        group.workload(None, events),
        end,
        stalled(at, back, end),
        changes=[as_before],
    )
