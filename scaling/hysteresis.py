"""When to follow a size and when to wait: pure.

Up where enough of the last answers agree, at once where the objective or data is in danger. Down
only to what every answer of a window has allowed, and only with a budget: each step down is one
rebalance now and, sooner or later, another one up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scaling.sizing import Sizing, Verdict

DAY_SECONDS = 86400.0


@dataclass(frozen=True, slots=True)
class Rules:
    """How patient to be.

    Attributes:
        agree: Answers that must ask for more ...
        of: ... out of so many.
        down_window_seconds: How long fewer must have been enough. After a step down that had to be
            taken back it is twice as long, ...
        longest_window_seconds: ... up to this.
        trial_seconds: Time within which a step down is taken back if it was wrong.
        cooldown_seconds: The least time between two steps up.
        changes_a_day: Changes in a day beyond which there is no further step down: it would want
            one up again.
    """

    agree: int = 3
    of: int = 4
    down_window_seconds: float = 1200.0
    longest_window_seconds: float = 14400.0
    trial_seconds: float = 900.0
    cooldown_seconds: float = 120.0
    changes_a_day: int = 12


DEFAULT_RULES = Rules()


@dataclass(frozen=True, slots=True)
class Memory:
    """What earlier answers were.

    Attributes:
        wanted: Time and number of each answer of the window, oldest first.
        changes: Time and step (negative: down) of each change of the last day, oldest first.
        since: When the window began; a change, or a late group, begins it anew.
        failures: Steps down in a row that had to be taken back.
    """

    wanted: tuple[tuple[float, int], ...] = ()
    changes: tuple[tuple[float, int], ...] = ()
    since: float | None = None
    failures: int = 0


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
    window = min(
        rules.down_window_seconds * 2**memory.failures,
        max(rules.longest_window_seconds, rules.down_window_seconds),
    )
    oldest = at - rules.down_window_seconds
    wanted = (*(one for one in memory.wanted if one[0] > oldest), (at, sizing.consumers))
    changes = tuple(one for one in memory.changes if one[0] > at - DAY_SECONDS)
    rested = at - changes[-1][0] if changes else float("inf")
    went_down = bool(changes) and changes[-1][1] < 0
    failures = memory.failures
    if went_down and rested > rules.trial_seconds:
        failures = 0
    kept = Memory(wanted, changes, since, failures)
    if sizing.consumers > current:
        last = [number for _, number in wanted[-rules.of :]]
        agreeing = [number for number in last if number > current]
        if not sizing.is_late and len(agreeing) < rules.agree:
            return Move(
                current, kept, f"{len(agreeing)} of the last {rules.of} answers ask for more"
            )
        if rested < rules.cooldown_seconds and not went_down:
            return Move(current, kept, "the last change is not through yet")
        if went_down and sizing.is_late and rested <= rules.trial_seconds:
            kept = replace(kept, failures=failures + 1)
        target = sizing.consumers if sizing.is_late else min(agreeing)
        return _changed(target, current, kept, at, sizing.reason)
    if sizing.is_late or sizing.verdict is Verdict.UNKNOWN_CAPACITY:
        return Move(current, kept, "no step down before the backlog is gone and capacity is known")
    most = max(number for _, number in wanted)
    if most >= current:
        return Move(current, kept, "needed within the window")
    if min(at - since, rested) < window:
        return Move(current, kept, "fewer would do, but not for long enough yet")
    if len(changes) + 2 > rules.changes_a_day:
        return Move(current, kept, "fewer would do, but the day's changes are used up")
    return _changed(most, current, kept, at, "fewer were enough for the whole window")


def _changed(target: int, current: int, memory: Memory, at: float, reason: str) -> Move:
    changes = (*memory.changes, (at, target - current))
    return Move(target, replace(memory, changes=changes, since=at), reason)
