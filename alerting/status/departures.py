"""How members leave a group: together, as in a stop, or one after the other, as when replaced."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from alerting.status.baseline import members_of
from alerting.status.model import Sample, StatusRules
from alerting.status.phrases import duration


def went_one_by_one(
    samples: Sequence[Sample], since: float, poll_seconds: float, rules: StatusRules
) -> bool:
    """Return whether a group without members ``since`` then lost them one after the other.

    One that had as many as before until the end did not, though there was one more meanwhile: a
    consumer that starts again is counted twice until the session of its predecessor ends. Nor did
    one whose consumers were all told to stop: some need seconds longer than others. How they left
    while nobody could look is not known, so that time does not count.
    """
    known = _members_before(samples, since, rules)
    if not known:
        return False
    _, first = known[0]
    all_there = max(at for at, count in known if count >= first)
    times = [*(at for at, _ in known if at >= all_there), since]
    longest = max(rules.slight_seconds, rules.harmless_polls * poll_seconds)
    steps = (after - before for before, after in pairwise(times))
    return sum(step for step in steps if step <= longest) > longest


def came_and_went(samples: Sequence[Sample], before: float, rules: StatusRules) -> bool:
    """Return whether there were more members at one time than at another just before a moment."""
    return len({count for _, count in _members_before(samples, before, rules)}) > 1


def _members_before(
    samples: Sequence[Sample], at: float, rules: StatusRules
) -> list[tuple[float, int]]:
    """Return when there were how many members just before a moment, where there were any."""
    first = at - rules.half_window_seconds
    return [(s.at, count) for s in samples if first <= s.at < at and (count := members_of(s))]


def gone_for(seconds: float) -> str:
    """Say for how long a group has no members."""
    return f"No members for {duration(seconds)}" if seconds else "No members now"
