"""The topic gets more partitions; nothing is committed of the new ones at first."""

from dataclasses import replace

from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("partition added", variant)
    at = group.begins()
    more = group.draw.one_of(2, 1, 6)
    unknown_for = group.draw.between(60.0, 15.0, 300.0)
    after = replace(group, partitions=group.partitions + more)
    event = SimulatedEvent(at=at, action=lambda run: run.add_partitions(after.partitions))

    def not_committed(_topic: str, partition: int, seen: ScenarioSample) -> ScenarioSample:
        is_new = partition >= group.partitions and seen.t < at + unknown_for
        return replace(seen, committed=None) if is_new else seen

    # Whoever gets one more must not be full: that would be another scenario.
    each = max(group.consumers.rate_per_second, after.rate_for(group.capacity))
    workload = group.workload(None, [event], rate_per_second=each)
    return group.scenario(workload, HOUR, changes=[not_committed])
