"""The consumers crash before they commit, and start again, already when monitoring begins."""

from dataclasses import replace

from simulation.scenarios.model import Scenario
from simulation.scenarios.record import Draw, seen_from
from simulation.scenarios.restarts import crash_loop


def scenario(variant: int) -> Scenario:
    """Return the scenario; nothing is read, though members come again and again."""
    whole = crash_loop.scenario(variant)
    draw = Draw("crashing before first sight", variant)
    begin = whole.truth[1].begin + draw.between(600.0, 100.0, 1200.0)
    return replace(seen_from(begin, whole), name=f"{whole.name}, seen from the middle")
