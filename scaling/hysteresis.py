"""When to follow a size and when to wait: pure.

Up where enough of the last answers agree, at once where the objective or data is in danger. Down
only to what every answer of a window has allowed, and only with a budget: each step down is one
rebalance now and, sooner or later, another one up.
"""

from __future__ import annotations

from dataclasses import dataclass

from scaling.sizing import Sizing, Verdict

DAY_SECONDS = 86400.0


@dataclass(frozen=True, slots=True)
class Rules:
    """How patient to be.

    Attributes:
        agree: Answers that must ask for more ...
        of: ... out of so many.
        down_window_seconds: How long fewer must have been enough.
        cooldown_seconds: The least time between two changes, unless it is urgent.
        downs_a_day: Steps down in a day, at most.
    """

    agree: int = 3
    of: int = 4
    down_window_seconds: float = 1200.0
    cooldown_seconds: float = 120.0
    downs_a_day: int = 5


DEFAULT_RULES = Rules()


@dataclass(frozen=True, slots=True)
class Memory:
    """What earlier answers were.

    Attributes:
        wanted: Time and number of each answer of the window, oldest first.
        changes: Time and step (negative: down) of each change of the last day, oldest first.
        since: When the window began; a change up, or a late group, begins it anew.
    """

    wanted: tuple[tuple[float, int], ...] = ()
    changes: tuple[tuple[float, int], ...] = ()
    since: float | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """What to do now.

    Attributes:
        consumers: The number that there should be.
        memory: To be handed in next time.
        reason: Why this number, in words.
    """

    consumers: int
    memory: Memory
    reason: str


def decide(
    sizing: Sizing, memory: Memory, *, at: float, current: int, rules: Rules = DEFAULT_RULES
) -> Move:
    """Return what to do about a size.

    Args:
        sizing: The newest answer.
        memory: What the last call returned; an empty one at the start.
        at: The present, seconds.
        current: The consumers that were asked for last.
        rules: How patient to be.
    """
    since = at if memory.since is None or sizing.is_late else memory.since
    oldest = at - max(rules.down_window_seconds, 0.0)
    wanted = (*(one for one in memory.wanted if one[0] > oldest), (at, sizing.consumers))
    changes = tuple(one for one in memory.changes if one[0] > at - DAY_SECONDS)
    kept = Memory(wanted, changes, since)
    rested = at - changes[-1][0] if changes else float("inf")
    if sizing.consumers > current:
        last = [number for _, number in wanted[-rules.of :]]
        agreeing = [number for number in last if number > current]
        if not sizing.is_urgent and len(agreeing) < rules.agree:
            return Move(
                current, kept, f"{len(agreeing)} of the last {rules.of} answers ask for more"
            )
        if rested < rules.cooldown_seconds:
            return Move(current, kept, "the last change is not through yet")
        target = sizing.consumers if sizing.is_urgent else min(agreeing)
        return _changed(target, current, kept, at, sizing.reason)
    if sizing.is_late or sizing.verdict is Verdict.UNKNOWN_CAPACITY:
        return Move(current, kept, "no step down before the backlog is gone and capacity is known")
    most = max(number for _, number in wanted)
    if most >= current:
        return Move(current, kept, "needed within the window")
    if at - since < rules.down_window_seconds or rested < rules.down_window_seconds:
        return Move(current, kept, "fewer would do, but not for long enough yet")
    if sum(1 for _, step in changes if step < 0) >= rules.downs_a_day:
        return Move(current, kept, "fewer would do, but the day's steps down are used up")
    return _changed(most, current, kept, at, "fewer were enough for the whole window")


def _changed(target: int, current: int, memory: Memory, at: float, reason: str) -> Move:
    changes = (*memory.changes, (at, target - current))
    return Move(target, Memory(memory.wanted, changes, at), reason)
