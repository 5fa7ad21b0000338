"""How long a partition may wait for its next commit."""

from __future__ import annotations

from alerting.status.features import Measurement
from alerting.status.model import StatusRules

_MANY = 4
"""So many pauses tell how long one may be."""

_ABOUT = 1.5


def freeze_limit(
    found: Measurement, peers_period_seconds: float | None, rules: StatusRules
) -> float:
    """Return how long a pause without commits is normal here, in seconds."""
    pauses = found.waiting.pauses
    period = pauses.usual_seconds
    if period is None:
        period = peers_period_seconds
    if period is None:
        # It may commit that seldom: its last commit was before what waits, or before first sight.
        is_old = (found.behind_seconds or 0.0) >= rules.unlearnt_age_seconds
        unlearnt = (
            rules.unlearnt_freeze_seconds
            if is_old or found.reads_at_once
            else rules.unlearnt_age_seconds
        )
        return max(rules.freeze_polls * (found.poll_seconds or 0.0), unlearnt)
    few = 0 < pauses.seen < _MANY
    periods = rules.few_freeze_periods if few else rules.freeze_periods
    limit = max(
        rules.freeze_polls * (found.poll_seconds or 0.0), rules.freeze_seconds, periods * period
    )
    if (found.newest.lag or 0) <= _ABOUT * found.largest_commit:
        limit = max(limit, min(rules.batch_freeze * limit, rules.batch_freeze_seconds))
    if found.is_rebalancing:
        return max(limit, rules.rebalance_freeze_seconds)
    if found.waiting.was_away or found.waiting.was_rebalancing:
        return max(limit, rules.away_freeze_seconds)
    return limit
