"""The consumers are restarted one after the other."""

from functools import partial

from simulation.assignors import Assignor
from simulation.interventions import Interventions
from simulation.model import SimulatedEvent
from simulation.scenarios.model import Scenario
from simulation.scenarios.record import HOUR, setting


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong."""
    group = setting("rolling restart of consumers", variant)
    at = group.begins()
    each = group.draw.between(60.0, 40.0, 120.0)
    assignor = group.draw.one_of(Assignor.RANGE, Assignor.COOPERATIVE_STICKY)
    back = group.draw.between(20.0, 10.0, 30.0)

    def restart(slot: int, run: Interventions) -> None:
        run.restart_member(slot, back_after_seconds=back)

    events = [
        SimulatedEvent(at=at + slot * each, action=partial(restart, slot))
        for slot in range(group.members)
    ]
    return group.scenario(
        group.workload(None, events, assignor=assignor),  # type: ignore[arg-type]
        HOUR,
    )
