"""Partitions whose lag is not known: unknown is neither zero nor fine."""

from __future__ import annotations

from collections.abc import Sequence

from alerting.status.decision import StatusDecision
from alerting.status.features import Measurement
from alerting.status.model import PartitionWindow, Sample, Status, StatusRules
from alerting.status.phrases import count, duration


def unreadable(
    window: PartitionWindow, found: Measurement, now: float | None, rules: StatusRules
) -> StatusDecision | None:
    """Return why a lag is not known, or what an offset beyond the log end means; None: it can."""
    newest = found.newest
    if now is not None:
        age = now - newest.at
        if age > rules.missed_polls * (found.poll_seconds or rules.trend_seconds):
            return StatusDecision(
                status=Status.UNKNOWN,
                reason=f"Unknown: the newest sample is {duration(age)} old.",
                since=newest.at,
            )
    if newest.lag is None:
        since = _unknown_since(window.samples)
        if window.unknown_reason:
            why = window.unknown_reason
        elif newest.committed is None:
            why = "no committed offset was found"
        elif newest.log_end is None:
            why = "the log end could not be read"
        else:
            why = "the lag is not known"
        return StatusDecision(
            status=Status.UNKNOWN,
            reason=f"Unknown: {why}.",
            since=since,
            decides=not _untouched(window),
        )
    if newest.committed is None:
        return StatusDecision(
            status=Status.UNKNOWN, reason="Unknown: no committed offset was found."
        )
    if newest.log_end is not None and newest.committed > newest.log_end:
        return _beyond_end(found, rules)
    return None


def _beyond_end(found: Measurement, rules: StatusRules) -> StatusDecision:
    """Classify an offset of a lost log: a consumer that works commits one of the new log."""
    newest, since = found.newest, found.log_restarted_at
    where = (
        f"the committed offset {count(newest.committed or 0)} lies beyond the log end "
        f"{count(newest.log_end or 0)}; the topic was recreated or truncated"
    )
    begin = max(since or found.first_at, found.last_advance_at or found.first_at)
    waiting = newest.at - begin
    if found.members and found.grew_since(begin) and waiting >= rules.window_seconds:
        return StatusDecision(
            status=Status.STALLED,
            reason=f"No commit while messages arrive: {where}.",
            since=begin,
        )
    return StatusDecision(status=Status.UNKNOWN, reason=f"Unknown: {where}.", since=since)


def _unknown_since(samples: Sequence[Sample]) -> float | None:
    since: float | None = None
    for sample in reversed(samples):
        if sample.lag is not None:
            break
        since = sample.at
    return since


def unread_since(windows: Sequence[PartitionWindow]) -> float | None:
    """Return since when no poll could read all of some partitions; None: the newest could.

    Of partitions that take turns each is unknown for a moment, and the group all the time.
    """
    unread = {sample.at for window in windows for sample in window.samples if sample.lag is None}
    since: float | None = None
    for at in sorted({s.at for window in windows for s in window.samples}, reverse=True):
        if at not in unread:
            break
        since = at
    return since


def _untouched(window: PartitionWindow) -> bool:
    """Return whether nothing was committed and nothing arrived: there may be nothing to read."""
    ends = [sample.log_end for sample in window.samples if sample.log_end is not None]
    return (
        all(sample.committed is None for sample in window.samples)
        and window.samples[-1].log_end is not None
        and ends[0] == ends[-1]
    )
