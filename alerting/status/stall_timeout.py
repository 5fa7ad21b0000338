"""How long a partition may wait for its next commit."""

from __future__ import annotations

from alerting.status.features import Measurement
from alerting.status.model import StatusRules

_MANY = 4
"""Number of pauses from which the longest usual one is learnt."""

_ABOUT = 1.5


def stall_timeout(
    found: Measurement, peers_period_seconds: float | None, rules: StatusRules
) -> float:
    """Return how long a pause without commits is normal here, in seconds."""
    pauses = found.waiting.pauses
    period = pauses.usual_seconds
    if period is None:
        period = peers_period_seconds
    if period is None:
        # It may commit that seldom: its last commit was before what waits, or before first sight.
        is_old = (found.behind_seconds or 0.0) >= rules.no_baseline_age_seconds
        without_baseline = (
            rules.no_baseline_stall_seconds
            if is_old or found.reads_at_once
            else rules.no_baseline_age_seconds
        )
        return max(rules.stall_polls * (found.poll_seconds or 0.0), without_baseline)
    few = 0 < pauses.seen < _MANY
    periods = rules.few_stall_periods if few else rules.stall_periods
    limit = max(
        rules.stall_polls * (found.poll_seconds or 0.0), rules.stall_seconds, periods * period
    )
    if (found.newest.lag or 0) <= _ABOUT * found.largest_commit:
        limit = max(limit, min(rules.batch_stall_factor * limit, rules.batch_stall_seconds))
    if found.is_rebalancing:
        return max(limit, rules.rebalance_stall_seconds)
    if found.waiting.was_away or found.waiting.was_rebalancing:
        return max(limit, rules.away_stall_seconds)
    return limit
