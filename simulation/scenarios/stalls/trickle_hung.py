"""The only consumer of a topic with a message a minute hangs."""

from simulation.scenarios.model import Scenario
from simulation.scenarios.stopped.trickle_stopped import trickle


def scenario(variant: int) -> Scenario:
    """Return the scenario; the group is stalled, and few messages show it."""
    return trickle("trickle, hung", variant, "STALLED")
