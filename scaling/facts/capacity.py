"""What one consumer can process per second when it never waits: pure.

Input is one row per member and interval, in columns (``Intervals``). Whoever has samples builds
it, for example a Spark job from the lake, one group at a time: take a member's partitions between
two polls 30 to 60 seconds apart, and leave the interval out if the group's members, generation or
assignment changed in it. ``estimate_capacity`` then picks the saturated intervals itself.

Why an interval and not a number: service times vary and the variation lasts (a slow minute follows
a slow minute), so that 100 samples of one hour do not weigh as 100 independent ones. Samples are
therefore grouped into clusters that are nearly independent (one member in one episode), and the
error of the ratio messages/second is taken between clusters, with Student's t for few clusters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alerting.status.phrases import rate
from scaling.facts.intervals import (
    DEFAULT_CAPACITY_RULES,
    CapacityRules,
    Integers,
    Intervals,
    episodes,
    foreseeable,
    saturated,
)


class CapacityStatus(StrEnum):
    """How much is known of a group's capacity."""

    IDENTIFIED = "identified"
    LOWER_BOUND = "lower bound"
    UNKNOWN = "unknown"
    CONFLICT = "conflict"
    BLOCKED = "blocked"


_CONFLICT_EXPONENT = -0.5
_MINIMUM_CLUSTERS_OF_TIME = 4
_Z_90 = 1.2815516
_ROUNDING = 0.95
"""A limit that is measured a little above a whole number of members is that number."""
_REACHED = 0.9
"""Share of a limit at which a number of members was seen to have met it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A rate with its 90 % interval, messages per second of one member."""

    per_second: float
    low: float  # lower end; 5 % lie below
    high: float  # upper end; 5 % lie above
    samples: int
    episodes: int

    @property
    def half_width(self) -> float:
        """Half the width of the interval as a share of the rate."""
        return (self.high - self.low) / (2 * self.per_second) if self.per_second else float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What one member of a group can process, messages per second.

    Attributes:
        per_second: The capacity; None unless identified (or measured before a blockage or in a
            conflict, there at the largest number of members).
        low: Lower end of the 90 % interval; with a lower bound the best sustained rate.
        high: Upper end; None where there is none.
        members: The same for each member with enough samples of its own.
        by_members: The estimate at each number of members with enough samples.
        limit_per_second: In a conflict what the group as a whole gets through.
        helpful_members: In a conflict the number of members beyond which none helps.
        variability_seconds: By how much the work done varies around a member's own rate: variance
            of messages/rate a second, in seconds: the upper end (90 %) of what the evidence leaves
            open. 0 is a clock; None is unknown.
    """

    status: CapacityStatus
    reason: str
    per_second: float | None = None
    low: float | None = None
    high: float | None = None
    samples: int = 0
    episodes: int = 0
    members: Mapping[str, Estimate] | None = None
    by_members: Mapping[int, Estimate] | None = None
    limit_per_second: float | None = None
    helpful_members: int | None = None
    variability_seconds: float | None = None


def not_measured(capacity: Capacity | None) -> str:
    """Say that there is no figure of what one consumer can process, why, and what was seen."""
    why = "that takes times in which a consumer is busy without a pause"
    if capacity is not None:
        why = f"{capacity.reason[:1].lower()}{capacity.reason[1:].rstrip('.')}"
    return f"what one consumer can process was not measured: {why}"


def estimate_capacity(
    intervals: Intervals,
    *,
    blocked: Collection[str] = (),
    rules: CapacityRules = DEFAULT_CAPACITY_RULES,
) -> Capacity:
    """Return what one member of a group can process, and how far that can be trusted.

    Args:
        intervals: What the members did, of about the last days; the order does not matter.
        blocked: Partitions that do not advance while others of their member do (``orders-3``).
        rules: What counts as evidence.
    """
    full = intervals.where(saturated(intervals, rules))
    found = _decision(intervals, full, blocked, rules)
    return replace(found, variability_seconds=_variability(full, rules))


def _decision(
    intervals: Intervals, full: Intervals, blocked: Collection[str], rules: CapacityRules
) -> Capacity:
    found = _pooled(full, rules)
    by_members = _by(full.members, full, rules)
    members = _by(full.member, full, rules)
    if blocked:
        names = ", ".join(sorted(blocked)[:3]) + (" …" if len(blocked) > 3 else "")
        return _capacity(
            CapacityStatus.BLOCKED,
            f"{names}: no commit while the member's other partitions advance. A message there "
            "blocks it; capacity is not what is missing.",
            found if found is not None and _is_enough(found, rules) else None,
            members,
            by_members,
        )
    conflict = _conflict(by_members, members)
    if conflict is not None:
        return conflict
    if found is not None and _is_enough(found, rules):
        return _capacity(
            CapacityStatus.IDENTIFIED,
            f"{found.samples} busy intervals in {found.episodes} episodes.",
            found,
            members,
            by_members,
        )
    return _not_identified(intervals, found, rules)


def student_t_95(degrees: int) -> float:
    """Return the 95 % quantile of Student's t.

    Cornish-Fisher expansion around the normal quantile (Abramowitz and Stegun 26.7.5), whose error
    is below 0.2 % from three degrees on; one and two are exact.

    Raises:
        ValueError: ``degrees`` is below 1.
    """
    if degrees < 1:
        raise ValueError("Student's t needs one degree of freedom at least")
    if degrees == 1:
        return 6.313752
    if degrees == 2:
        return 2.919986
    z = 1.6448536
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / degrees ** (n + 1) for n, term in enumerate(terms)))


def _capacity(
    status: CapacityStatus,
    reason: str,
    found: Estimate | None,
    members: Mapping[str, Estimate],
    by_members: Mapping[int, Estimate],
) -> Capacity:
    if found is None:
        return Capacity(status=status, reason=reason, members=members, by_members=by_members)
    return Capacity(
        status=status,
        reason=reason,
        per_second=found.per_second,
        low=found.low,
        high=found.high,
        samples=found.samples,
        episodes=found.episodes,
        members=members,
        by_members=by_members,
    )


def _too_few(samples: int, episodes: int, rules: CapacityRules) -> str:
    """Say what an estimate needs and was not seen often enough."""
    parts = [
        f"{seen} of {needed} busy {what}"
        for seen, needed, what in (
            (samples, rules.minimum_samples, "intervals"),
            (episodes, rules.minimum_episodes, "episodes"),
        )
        if seen < needed
    ]
    return f"{' and '.join(parts)} seen"


def _not_identified(intervals: Intervals, found: Estimate | None, rules: CapacityRules) -> Capacity:
    samples, episodes = (found.samples, found.episodes) if found is not None else (0, 0)
    if not samples:
        missing = "no member was ever busy without a pause"
    elif samples < rules.minimum_samples or episodes < rules.minimum_episodes:
        missing = _too_few(samples, episodes, rules)
    else:
        width = found.half_width if found is not None else 0.0
        missing = (
            f"the rate while busy varies too much: by ±{width:.0%}, where "
            f"±{rules.widest_half_width:.0%} is allowed"
        )
    best = _best_sustained(intervals, rules)
    if best is None:
        return Capacity(
            status=CapacityStatus.UNKNOWN,
            reason=f"No member consumed for ten minutes with one assignment: {missing}.",
            samples=samples,
            episodes=episodes,
        )
    return Capacity(
        status=CapacityStatus.LOWER_BOUND,
        reason=f"At least {rate(best)} of one consumer were seen, its limit was not: {missing}.",
        low=best,
        samples=samples,
        episodes=episodes,
    )


def _is_enough(found: Estimate, rules: CapacityRules) -> bool:
    return (
        found.samples >= rules.minimum_samples
        and found.episodes >= rules.minimum_episodes
        and found.half_width <= rules.widest_half_width
    )


def _pooled(full: Intervals, rules: CapacityRules) -> Estimate | None:
    """Estimate the rate of a member over all saturated intervals; None without any."""
    if not len(full):
        return None
    number = int(episodes(full.started_at, full.seconds, rules).max()) + 1
    rate = float(full.consumed.sum() / full.seconds.sum())
    kept = full.where(foreseeable(full, rate))
    if len(kept) < rules.minimum_samples:
        kept = full
    episode = episodes(kept.started_at, kept.seconds, rules)
    if int(episode.max()) + 1 < min(number, rules.minimum_episodes):
        kept, episode = full, episodes(full.started_at, full.seconds, rules)
    rate = float(kept.consumed.sum() / kept.seconds.sum())
    member = _numbered_names(kept.member)
    variance, freedom = _variance(kept, rate, _numbered(member + episode * (int(member.max()) + 1)))
    of_time, times = _variance(kept, rate, episode)
    # Members may be slow together (a shared database), which only time tells: where episodes
    # differ by more than their members explain (a tenth of the cases by chance).
    if times + 1 >= _MINIMUM_CLUSTERS_OF_TIME and (
        of_time * times > variance * chi_square(times, _Z_90)
    ):
        variance, freedom = of_time, times
    half = student_t_95(freedom) * sqrt(variance) if freedom else float("inf")
    return Estimate(
        per_second=rate,
        low=max(0.0, rate - half),
        high=rate + half,
        samples=len(full),
        episodes=number,
    )


def _variability(full: Intervals, rules: CapacityRules) -> float | None:
    """Return the variance a second of the work done, from clusters against their member's rate."""
    if len(full) < rules.minimum_samples:
        return None
    member = _numbered_names(full.member)
    rate = (np.bincount(member, full.consumed) / np.bincount(member, full.seconds))[member]
    episode = episodes(full.started_at, full.seconds, rules)
    cluster = _numbered(member + episode * (int(member.max()) + 1))
    spare = int(cluster.max()) - int(member.max())
    if spare < 1 or not rate.all():
        return None
    work = np.bincount(cluster, full.consumed / rate - full.seconds)
    squares = float(work @ work) * (int(cluster.max()) + 1) / float(full.seconds.sum())
    return squares / chi_square(spare, -_Z_90)


def chi_square(degrees: int, z: float) -> float:
    """Return a quantile of chi-square (Wilson and Hilferty 1931: its cube root is about normal)."""
    part = 2 / (9 * degrees)
    return float(degrees * max(1e-3, 1 - part + z * sqrt(part)) ** 3)


def _numbered(keys: Integers) -> Integers:
    return np.unique(keys, return_inverse=True)[1]


def _numbered_names(names: NDArray[np.str_]) -> Integers:
    return np.unique(names, return_inverse=True)[1]


def _variance(full: Intervals, rate: float, cluster: Integers) -> tuple[float, int]:
    """Return the variance of a ratio and its degrees of freedom, from differences of clusters.

    Linearised ratio estimator with cluster-robust variance: Σ(Cₖ - r·Sₖ)² · K/(K - 1) ÷ (ΣS)²
    over K clusters with C messages in S seconds.
    """
    clusters = int(cluster.max()) + 1
    seconds = np.bincount(cluster, full.seconds)
    differences = np.bincount(cluster, full.consumed) - rate * seconds
    squares = float(differences @ differences) / float(seconds.sum()) ** 2
    return squares * clusters / max(1, clusters - 1), clusters - 1


def _by(of: NDArray[Any], full: Intervals, rules: CapacityRules) -> dict[Any, Estimate]:
    """Return the estimate for each value of a column with enough samples."""
    found = {}
    for value in np.unique(of):
        one = _pooled(full.where(of == value), rules)
        if one is not None and one.samples >= rules.minimum_samples and np.isfinite(one.high):
            found[value.item()] = one
    return found


def _conflict(
    by_members: Mapping[int, Estimate], members: Mapping[str, Estimate]
) -> Capacity | None:
    """Find a shared limit: with more members each gets through so much less that few gain.

    The largest number of members is compared with each smaller one: their intervals do not meet,
    and the rate fell by more than the square root of what the members grew by, so that more than
    half of the gain was lost.
    """
    if len(by_members) < 2:
        return None
    largest = max(by_members)
    at_most = by_members[largest]
    for number in sorted(by_members):
        fewer = by_members[number]
        if number == largest or at_most.high >= fewer.low:
            continue
        if at_most.per_second > fewer.per_second * (largest / number) ** _CONFLICT_EXPONENT:
            continue
        limit = largest * at_most.per_second
        best = max(one.per_second for one in by_members.values())
        reached = min(n for n, one in by_members.items() if n * one.per_second >= _REACHED * limit)
        return replace(
            _capacity(
                CapacityStatus.CONFLICT,
                f"{number} members got through {fewer.per_second:.4g} messages/s each, {largest} "
                f"through {at_most.per_second:.4g}: they share a limit downstream of about "
                f"{limit:.4g} messages/s, and more consumers will not help.",
                at_most,
                members,
                by_members,
            ),
            limit_per_second=limit,
            helpful_members=max(1, min(reached, ceil(_ROUNDING * limit / best))),
        )
    return None


def _best_sustained(intervals: Intervals, rules: CapacityRules) -> float | None:
    """Return the best rate of a member over ten minutes; None where there are none."""
    if not len(intervals):
        return None
    names = _numbered_names(intervals.member)
    window = (intervals.started_at // rules.sustained_seconds).astype(np.int64)
    window -= window.min()
    cluster = np.unique(names * (int(window.max()) + 1) + window, return_inverse=True)[1]
    seconds = np.bincount(cluster, intervals.seconds)
    long_enough = seconds >= rules.sustained_seconds / 2
    if not long_enough.any():
        return None
    return float(
        (np.bincount(cluster, intervals.consumed)[long_enough] / seconds[long_enough]).max()
    )
