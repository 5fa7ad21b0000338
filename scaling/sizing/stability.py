"""When advice follows a size and when it waits: votes for a step up, trials of a step down. Pure.

A step up follows when enough of the last evaluations agree, and at once where the objective or data
is in danger. A step down goes only to what every evaluation of a window allowed, and within a
budget: each step down costs a rebalance now and another one on the way up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from alerting.status.phrases import duration
from scaling.sizing.size import GroupSize, SizeDecision

DAY_SECONDS = 86400.0
_TELLING_UTILISATION = 0.7
"""A step down that fails at less tells of another trouble than too few consumers."""

_BELOW_REFUTED = 0.97
_MOST_DOUBLINGS = 16

Vote = tuple[float, int]
"""When an evaluation was made, and the number of consumers that it asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StabilityRules:
    """How patient to be.

    Attributes:
        vote_every_seconds: Time between two evaluations that vote.
        required_votes: Step up when this many of the last evaluations ask for more.
        last_votes: How many evaluations are looked at.
        vote_expires_seconds: An older vote says nothing about a step up.
        down_window_seconds: How long fewer consumers must have been enough. After a step down that
            had to be taken back it is twice as long.
        longest_window_seconds: It is never longer than this.
        trial_seconds: Time within which a step down is taken back if it was wrong.
        cooldown_seconds: The least time between two steps up.
        changes_a_day: Changes in a day; a step down has to leave room in them for the steps back
            up to what was needed in the last day.
        longest_gap_seconds: A window cannot be longer than the evaluations are apart: after a
            pause of more than this it begins anew.
    """

    vote_every_seconds: float = 30.0
    required_votes: int = 3
    last_votes: int = 4
    vote_expires_seconds: float = 300.0
    down_window_seconds: float = 1200.0
    longest_window_seconds: float = 14400.0
    trial_seconds: float = 900.0
    cooldown_seconds: float = 120.0
    changes_a_day: int = 12
    longest_gap_seconds: float = 3600.0


DEFAULT_STABILITY_RULES = StabilityRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """What is remembered of earlier evaluations and of changes of the number of consumers.

    Attributes:
        votes: Those of the window, oldest first.
        changes: Time and step (negative: down) of each change of the last day, oldest first.
        since: When the window began; a change, or a late group, begins it anew.
        failed_at: The step down that was counted among them last.
        tried: Utilisation that the last step down was expected to lead to; None is unknown.
        refuted: Time and utilisation of the steps down of the last day that had to be taken back:
            so busy the members do not hold the objective, whatever was allowed.
    """

    votes: tuple[Vote, ...] = ()
    changes: tuple[Vote, ...] = ()
    since: float | None = None
    failures: int = 0
    failed_at: float | None = None
    tried: float | None = None
    refuted: tuple[tuple[float, float], ...] = ()

    def changed(self, at: float, step: int, expected: float | None) -> Stability:
        """Return it after the number of consumers changed."""
        changes = (*self.changes, (at, step))
        return replace(self, changes=changes, since=at, tried=expected if step < 0 else self.tried)

    def is_on_trial(self, at: float, rules: StabilityRules) -> bool:
        """Return whether consumers were taken away a short time ago."""
        last = self.changes[-1] if self.changes else None
        return last is not None and last[1] < 0 and at - last[0] < rules.trial_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What to do now."""

    consumers: int
    stability: Stability
    reason: str


def move(
    group_size: GroupSize,
    before: Stability,
    *,
    at: float,
    current: int,
    advised: int | None = None,
    rules: StabilityRules = DEFAULT_STABILITY_RULES,
) -> Move:
    """Return what to do about a size.

    Args:
        group_size: The size.
        before: What is remembered.
        at: The present, Unix seconds.
        current: How many consumers there are.
        advised: The number that was advised last; None: none was.
        rules: How patient to be.
    """
    refuted = tuple(one for one in before.refuted if one[0] > at - DAY_SECONDS)
    oldest = at - rules.down_window_seconds
    vote = (at, _enough(group_size, current, refuted))
    now = replace(
        before,
        votes=(*(one for one in before.votes if oldest < one[0] < at), vote),
        changes=tuple(one for one in before.changes if one[0] > at - DAY_SECONDS),
        since=at if before.since is None or group_size.is_late else before.since,
        refuted=refuted,
    )
    if group_size.consumers > current:
        found = _up(group_size, now, at, current, rules)
    else:
        found = _down(group_size, now, at, current, rules)
    if advised is None or advised <= current:
        return found
    if group_size.is_late and found.consumers > advised:
        return found  # what endangers the objective waits for no other round
    return _standing(found, at, advised, rules)


def _standing(found: Move, at: float, advised: int, rules: StabilityRules) -> Move:
    """Return a step up that was advised and not followed yet, unless time has shown another one.

    Arrivals that come in waves ask for more at each crest and for less in between. More than was
    advised follows where an earlier round asked for more, too; less, or nothing, where none did
    for a whole window.
    """
    votes = found.stability.votes
    if found.consumers > advised:
        earlier = at - rules.vote_expires_seconds
        is_shown = any(number > advised for voted_at, number in votes if voted_at <= earlier)
    else:
        is_shown = all(number < advised for _, number in votes)
    if is_shown or found.consumers == advised:
        return found
    window = duration(rules.down_window_seconds)
    return replace(found, consumers=advised, reason=f"as many were needed within the last {window}")


def _up(
    group_size: GroupSize, now: Stability, at: float, current: int, rules: StabilityRules
) -> Move:
    rested, went_down = _last_change(now, at)
    recent = now.votes[-rules.last_votes :]
    asking = [
        number
        for voted_at, number in recent
        if number > current and voted_at > at - rules.vote_expires_seconds
    ]
    now = _failures_expired(now, at, rules)
    if not group_size.is_late and len(asking) < rules.required_votes:
        reason = (
            f"{len(asking)} of the last {rules.last_votes} evaluations "
            f"{'asks' if len(asking) == 1 else 'ask'} for more, and {rules.required_votes} have to"
        )
        return Move(consumers=current, stability=now, reason=reason)
    if rested < rules.cooldown_seconds and not went_down:
        return Move(consumers=current, stability=now, reason="the last change was a moment ago")
    if went_down and group_size.is_late and rested <= rules.trial_seconds:
        now = _failed(now, at)
    target = group_size.consumers if group_size.is_late else min(asking)
    return Move(consumers=target, stability=now, reason=group_size.reason)


def _down(
    group_size: GroupSize, now: Stability, at: float, current: int, rules: StabilityRules
) -> Move:
    window = min(
        rules.down_window_seconds * 2 ** min(now.failures, _MOST_DOUBLINGS),
        max(rules.longest_window_seconds, rules.down_window_seconds),
    )
    rested, _ = _last_change(now, at)
    now = _failures_expired(now, at, rules)

    def stay(reason: str) -> Move:
        return Move(consumers=current, stability=now, reason=reason)

    if group_size.is_late or group_size.decision is SizeDecision.UNKNOWN_CAPACITY:
        return stay("no step down before the backlog is gone and capacity is known")
    most = max(number for _, number in now.votes)
    if most >= current:
        return stay(f"more were needed within the last {duration(rules.down_window_seconds)}")
    since = at if now.since is None else now.since
    if min(at - since, rested) < window:
        return stay(f"fewer must have been enough for {duration(window)}")
    steps = len(now.changes) + 1 + _steps_back(group_size, most, current, now.changes)
    if steps > rules.changes_a_day:
        return stay(f"the {rules.changes_a_day} changes that a day may have are used up")
    return Move(consumers=most, stability=now, reason="fewer were enough for the whole window")


def _last_change(now: Stability, at: float) -> tuple[float, bool]:
    """Return the time since the last change, and whether it was a step down."""
    if not now.changes:
        return float("inf"), False
    changed_at, step = now.changes[-1]
    return at - changed_at, step < 0


def _failures_expired(now: Stability, at: float, rules: StabilityRules) -> Stability:
    """Forget earlier failures once a step down has outlived its trial."""
    rested, went_down = _last_change(now, at)
    if went_down and rested > rules.trial_seconds:
        return replace(now, failures=0)
    return now


def _enough(group_size: GroupSize, current: int, refuted: tuple[tuple[float, float], ...]) -> int:
    """Return the size, or up to the present number what was not refuted at this load."""
    if not refuted or group_size.consumers >= current:
        return group_size.consumers
    most = _BELOW_REFUTED * min(utilisation for _, utilisation in refuted)
    return next(
        (
            number
            for number, utilisation in sorted(group_size.utilisations.items())
            if group_size.consumers <= number < current and utilisation <= most
        ),
        current,
    )


def _failed(now: Stability, at: float) -> Stability:
    """Count, once, a step down that has to be taken back, and keep its load as refuted."""
    stepped_at = now.changes[-1][0]
    if now.failed_at == stepped_at:
        return now
    refuted = now.refuted
    if now.tried is not None and now.tried >= _TELLING_UTILISATION:
        refuted = (*refuted, (at, now.tried))
    return replace(
        now, failures=now.failures + 1, failed_at=stepped_at, tried=None, refuted=refuted
    )


def _steps_back(group_size: GroupSize, target: int, current: int, changes: tuple[Vote, ...]) -> int:
    """Return how many useful numbers there are from a target up to the most of the last day."""
    number = highest = current
    for _, step in reversed(changes):
        number -= step
        highest = max(highest, number)
    return max(1, sum(target < one <= highest for one in group_size.utilisations))
