"""Monitoring begins in the middle of a group's ordinary work."""

from dataclasses import replace

from simulation.scenarios.model import Scenario
from simulation.scenarios.overload import around_threshold
from simulation.scenarios.record import Draw, seen_from
from simulation.scenarios.restarts import deploy, rebalances
from simulation.scenarios.steady import batch_commits, bursty, full_batches, slow_batches


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is wrong, however it looks at first."""
    draw = Draw("healthy before first sight", variant)
    family = draw.one_of(
        bursty, full_batches, batch_commits, slow_batches, around_threshold, rebalances, deploy
    )
    whole = family.scenario(variant)
    found = seen_from(draw.between(1200.0, 300.0, 2400.0), whole)
    return replace(found, name=f"{whole.name}, seen from the middle")
