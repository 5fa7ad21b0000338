"""How long a partition may wait for its next commit."""

from __future__ import annotations

from alerting.status.features import Measurement
from alerting.status.model import StatusRules


def stall_timeout(
    found: Measurement, peers_period_seconds: float | None, rules: StatusRules
) -> float:
    """Return how long a pause without commits is normal here, in seconds."""
    polls = rules.missed_polls * (found.poll_seconds or 0.0)
    period = found.waiting.pauses.usual_seconds
    if period is None:
        period = peers_period_seconds
    if period is None:
        # It may commit that seldom: its last commit was before what waits, or before first sight.
        is_old = (found.behind_seconds or 0.0) >= rules.unknown_period_seconds
        is_known = is_old or found.reads_at_once or found.waiting.is_crashing
        return max(polls, rules.half_window_seconds if is_known else rules.unknown_period_seconds)
    limit = max(polls, rules.stall_seconds, rules.usual_periods * period)
    if (found.newest.lag or 0) <= (1 + rules.large_share) * found.largest_commit:
        limit = max(limit, rules.half_window_seconds)  # no more waits than it commits at once
    if found.is_rebalancing or found.waiting.was_away or found.waiting.was_rebalancing:
        return max(limit, rules.confirm_seconds)
    return limit
