"""When to follow a size and when to wait: pure.

Up where enough of the last answers agree, at once where the objective or data is in danger. Down
only to what every answer of a window has allowed, and only with a budget: each step down is one
rebalance now and, sooner or later, another one up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scaling.sizing import Sizing, Verdict

DAY_SECONDS = 86400.0
_TELLING_UTILISATION = 0.7
"""A step down that fails at less tells of another trouble than too few consumers."""

_BELOW_REFUTED = 0.97


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
        changes_a_day: Changes in a day; a step down has to leave room in them for the steps back
            up to what was needed in the last day.
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
        tried: Utilisation that the last step down was expected to lead to; None is unknown.
        refuted: Time and utilisation of the steps down of the last day that had to be taken back:
            so busy the members do not hold the objective, whatever was allowed.
    """

    wanted: tuple[tuple[float, int], ...] = ()
    changes: tuple[tuple[float, int], ...] = ()
    since: float | None = None
    failures: int = 0
    tried: float | None = None
    refuted: tuple[tuple[float, float], ...] = ()


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
    refuted = tuple(one for one in memory.refuted if one[0] > at - DAY_SECONDS)
    enough = _enough(sizing, current, refuted)
    wanted = (*(one for one in memory.wanted if one[0] > oldest), (at, enough))
    changes = tuple(one for one in memory.changes if one[0] > at - DAY_SECONDS)
    rested = at - changes[-1][0] if changes else float("inf")
    went_down = bool(changes) and changes[-1][1] < 0
    failures = memory.failures
    if went_down and rested > rules.trial_seconds:
        failures = 0
    kept = Memory(wanted, changes, since, failures, memory.tried, refuted)
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
            kept = _failed(kept, at)
        target = sizing.consumers if sizing.is_late else min(agreeing)
        return _changed(target, current, kept, at, sizing.reason)
    if sizing.is_late or sizing.verdict is Verdict.UNKNOWN_CAPACITY:
        return Move(current, kept, "no step down before the backlog is gone and capacity is known")
    most = max(number for _, number in wanted)
    if most >= current:
        return Move(current, kept, "needed within the window")
    if min(at - since, rested) < window:
        return Move(current, kept, "fewer would do, but not for long enough yet")
    if len(changes) + 1 + _steps_back(sizing, most, current, changes) > rules.changes_a_day:
        return Move(current, kept, "fewer would do, but the day's changes are used up")
    kept = replace(kept, tried=sizing.utilisations.get(most))
    return _changed(most, current, kept, at, "fewer were enough for the whole window")


def _enough(sizing: Sizing, current: int, refuted: tuple[tuple[float, float], ...]) -> int:
    """Return the size, or up to the present number what was not refuted at this load."""
    if not refuted or sizing.consumers >= current:
        return sizing.consumers
    most = _BELOW_REFUTED * min(utilisation for _, utilisation in refuted)
    return next(
        (
            number
            for number, utilisation in sorted(sizing.utilisations.items())
            if sizing.consumers <= number < current and utilisation <= most
        ),
        current,
    )


def _failed(memory: Memory, at: float) -> Memory:
    """Learn from a step down that has to be taken back."""
    refuted = memory.refuted
    if memory.tried is not None and memory.tried >= _TELLING_UTILISATION:
        refuted = (*refuted, (at, memory.tried))
    return replace(memory, failures=memory.failures + 1, tried=None, refuted=refuted)


def _steps_back(
    sizing: Sizing, target: int, current: int, changes: tuple[tuple[float, int], ...]
) -> int:
    """Return how many useful numbers there are from a target up to the most of the last day."""
    number = highest = current
    for _, step in reversed(changes):
        number -= step
        highest = max(highest, number)
    return max(1, sum(target < one <= highest for one in sizing.utilisations))


def _changed(target: int, current: int, memory: Memory, at: float, reason: str) -> Move:
    changes = (*memory.changes, (at, target - current))
    return Move(target, replace(memory, changes=changes, since=at), reason)
