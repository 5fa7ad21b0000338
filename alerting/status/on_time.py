"""How late a group is, and whether it keeps up, as its sentence begins: pure functions."""

from __future__ import annotations

from alerting.status.model import LagNumbers, StatusRules
from alerting.status.phrases import duration, messages

KEEPS_UP, LAG_GROWS = "Keeps up", "Not late, but its lag grows"
BEYOND_OBJECTIVE = "Later than its objective of "
"""How the sentence of a group begins that is so late, and does not fall further behind."""


def late(lag: int, behind: float | None) -> str:
    """Return how late a group is, for lists that show the first words only."""
    if not behind:
        return f"{messages(lag)} wait{'s' if lag == 1 else ''}"
    return f"{duration(behind)} behind with {messages(lag)}"


def on_time(numbers: LagNumbers, rules: StatusRules) -> str:
    """Return what a group does that has no trouble: it keeps up unless its lag grows.

    A short objective is missed by one that is as late all the time, too.
    """
    arrival, growth = numbers.arrival_per_second or 0.0, numbers.growth_per_second or 0.0
    is_material = growth * rules.half_window_seconds > rules.minimum_messages
    grows = is_material and growth > rules.slower_share * arrival
    if numbers.lag and (numbers.behind_seconds or 0.0) > rules.objective_seconds:
        does = "and its lag grows" if grows else "but keeps up"
        return f"{BEYOND_OBJECTIVE}{duration(rules.objective_seconds)}, {does}"
    return LAG_GROWS if grows else KEEPS_UP
