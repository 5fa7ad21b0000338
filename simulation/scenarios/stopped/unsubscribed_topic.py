"""The group reads another topic now: what it had committed of the old one stays."""

from dataclasses import replace

from simulation.scenarios.model import Scenario, ScenarioSample
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("unsubscribed topic", variant)
    at = group.begins()
    old: dict[int, int] = {}

    def left(topic: str, partition: int, seen: ScenarioSample) -> ScenarioSample:
        if topic != "orders-old" or seen.t < at:
            return seen
        kept = old.setdefault(partition, seen.committed or 0)
        return replace(seen, committed=kept, assigned=False)

    workload = replace(
        group.workload(), topics={"orders": group.partitions, "orders-old": group.partitions}
    )
    return group.scenario(workload, HOUR, changes=[left])
