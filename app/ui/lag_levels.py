"""What a time lag is held against: its group's objective, and what topics keep: pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from alerting.checks.loss_deadline import shortest_kept
from alerting.checks.retention_deadline import Retention
from app.style.format import duration

Level = tuple[str, float]
"""A name and a time lag in seconds."""


def levels(
    objective_seconds: float, kept: Mapping[str, Retention], topics: Collection[str]
) -> list[Level]:
    """Return the levels of a group's time lag: its objective, and when messages are deleted unread.

    The latter alone where it comes first: what is deleted never misses an objective.

    Args:
        objective_seconds: The time lag that the group is not to exceed.
        kept: What each topic keeps.
        topics: The topics that the group reads.
    """
    objective = (f"objective {duration(objective_seconds)}", objective_seconds)
    shortest = shortest_kept(kept, topics)
    if shortest is None:
        return [objective]
    topic, seconds = shortest
    of_which = f" of {topic}" if len(topics) > 1 else ""
    retention = (f"retention {duration(seconds)}{of_which}", seconds)
    return [retention] if seconds < objective_seconds else [objective, retention]


def shared(of_groups: Iterable[Sequence[Level]]) -> list[Level]:
    """Return the levels that hold for each of some groups: a chart of them has no others."""
    first, *others = of_groups
    return [level for level in first if all(level in other for other in others)]
