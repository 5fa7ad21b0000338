"""Whether a lag that grows will go on growing: a passing peak looks the same at first."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter

from alerting.status.model import StatusRules

Point = tuple[float, int, int, int]
"""Time, log end, committed offset, lag."""

_DAY = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A lag that has risen from its lowest.

    Attributes:
        since: When it was last near its lowest, in Unix seconds.
        messages: By how many it has risen, commit steps left out: its lowest of ``swing_seconds``.
        lowest: What it has risen from.
        swing_seconds: Within so long a commit may come that takes back what waits for it.
        is_lasting: Whether nothing speaks for an end: what arrives is what arrived before and the
            lag rises evenly; or it has risen for so long that it does not matter why.
        is_swinging: Whether arrivals swing, so that it may pass as they swing back.
        read_share: What is read of what arrives, over the last two parts of the rise.
    """

    since: float
    seconds: float
    messages: int
    lowest: int
    swing_seconds: float
    is_lasting: bool
    is_swinging: bool
    read_share: float


def growth_of(points: Sequence[Point], period: float | None, rules: StatusRules) -> Growth | None:
    """Return how the lag has risen; None where it has not.

    A peak of arrivals passes by itself: it rises, then eases, and the group reads as fast as ever.
    The growth is lasting where the group reads less than before although more waits, or where
    arrivals are the same as before. After a jump of the arrivals, which may be a campaign, the wait
    is longer. Where arrivals swing, only the time lag decides.

    Args:
        points: In order of time, up to some hours.
        period: Usual pause between commits, in seconds; the lag swings that much without growing.
        rules: Thresholds.
    """
    parts, times = rules.parts, rules.habit_times
    if len(points) <= times:
        return None
    now = points[-1][0]
    swing = max(rules.trend_seconds, rules.late_periods * (period or 0.0))
    lags = [point[3] for point in points]
    recent = [lag for at, _, _, lag in points if at >= now - swing]
    current, lowest = min(recent), min(lags)
    risen = current - lowest
    # Each of the times that it must have risen has to be a trend.
    if risen <= max(times * rules.minimum_messages, rules.change_share * current):
        return None
    near = lowest + rules.change_share * risen
    onset = max(index for index, lag in enumerate(lags) if lag <= near)
    # It began to rise before it had risen that far.
    since = max(points[0][0], now - (now - points[onset][0]) / (1 - rules.change_share))
    seconds = now - since
    after = [point for point in points if point[0] >= since]
    marks = [_at(after, since + seconds * part / parts) for part in range(parts + 1)]
    rises = [late[1] - early[1] for early, late in pairwise(marks)]
    arrivals = [(late[0] - early[0]) * parts / seconds for early, late in pairwise(marks)]
    mean = sum(rises) / parts
    is_even = mean > 0 and all(abs(rise - mean) <= rules.large_share * mean for rise in rises)
    goes_on = (
        mean > 0
        and min(rises) >= rules.much_share * mean
        and rises[-1] >= (1 - rules.large_share) * max(rises)
    )
    arrived = sum(arrivals) / parts
    is_steady = all(abs(rate - arrived) <= rules.change_share * arrived for rate in arrivals)
    steps = [_at(after, since + seconds * part / times) for part in range(times + 1)]
    seen_at = [since, *(point[0] for point in after)]
    is_seen = all(late - early <= rules.much_share * seconds for early, late in pairwise(seen_at))
    rises_on = is_seen and all(
        late[1] - early[1] >= rules.much_share * risen / times for early, late in pairwise(steps)
    )
    # The onset is no more than estimated: what is close to it belongs to neither side.
    margin = max(rules.trend_seconds, rules.change_share * seconds)
    history = [point for point in points if point[0] <= since - margin]
    before = _before(history, rules)
    is_swinging = before is not None and max(before) - min(before) > rules.much_share * max(before)
    # Commit steps are no growth, so that what is read is rather overstated; what was read of late
    # counts as well, as the onset of a peak is slow.
    arrive = sum(arrivals[-2:]) / 2
    lately = arrive - sum(rises[-2:]) / 2 * parts / seconds
    is_slower = False
    if before is not None and rises_on:
        read = max(arrived - risen / seconds, lately) / max(_consumed(history, rules), 1e-9)
        late = current / arrived if arrived > 0 else 0.0
        matters = seconds >= rules.half_window_seconds and late >= rules.slight_seconds
        is_unchanged = abs(arrived - sum(before) / len(before)) <= rules.change_share * arrived
        is_slower = read < 1 - rules.slower_share and (
            (matters and rises[-1] >= (1 - rules.large_share) * mean)
            or (is_unchanged and not is_swinging and seconds >= rules.lasting_seconds)
        )
    enough = rules.lasting_seconds if before is None else rules.campaign_seconds
    if before is None and seconds < rules.campaign_seconds:
        # Seen first in the middle of a peak, it rises evenly for a while, too.
        is_even = mean > 0 and all(abs(rise - mean) <= rules.much_share * mean for rise in rises)
    goes_on_alike = seconds >= enough and is_even and is_steady
    return Growth(
        since=since,
        seconds=seconds,
        messages=risen,
        lowest=lowest,
        swing_seconds=swing,
        is_lasting=is_slower
        or (not is_swinging and (goes_on_alike or (seconds >= rules.peak_seconds and goes_on))),
        is_swinging=is_swinging and not is_slower,
        read_share=lately / arrive if arrive else 1.0,
    )


def _at(points: Sequence[Point], time: float) -> tuple[float, float]:
    """Return log end and lag at a time, on a straight line between two points."""
    index = bisect_right(points, time, key=lambda point: point[0])
    if index >= len(points):
        return float(points[-1][1]), float(points[-1][3])
    if index == 0:
        return float(points[0][1]), float(points[0][3])
    before, after = points[index - 1], points[index]
    share = (time - before[0]) / (after[0] - before[0])
    return (
        before[1] + share * (after[1] - before[1]),
        before[3] + share * (after[3] - before[3]),
    )


def _before(points: Sequence[Point], rules: StatusRules) -> list[float] | None:
    """Return arrivals per second in the parts of half a day; None where too little is known."""
    if not points:
        return None
    end = points[-1][0]
    begin = max(points[0][0], end - _DAY / 2)
    if end - begin < rules.trend_seconds * rules.habit_times:
        return None
    length = (end - begin) / rules.parts
    ends = [_at(points, begin + length * part)[0] for part in range(rules.parts + 1)]
    return [(late - early) / length for early, late in pairwise(ends)]


def _consumed(history: Sequence[Point], rules: StatusRules) -> float:
    """Return how much was read per second in the history that ``_before`` looks at."""
    end = history[-1]
    first = bisect_left(history, end[0] - _DAY / 2, key=lambda point: point[0])
    begin = history[first]
    return max(0.0, (end[2] - begin[2]) / (end[0] - begin[0]))


def shrinks_since(points: Sequence[Point], rules: StatusRules) -> float | None:
    """Return since when the lag shrinks, if slower than the noise of minutes; None: it does not.

    The mean of each third of ``StatusRules.peak_seconds`` must be below the one before, and the
    last clearly below the first: as many parts as ``StatusRules.habit_times``.
    """
    if not points:
        return None
    first_of = bisect_left(points, points[-1][0] - rules.peak_seconds, key=itemgetter(0))
    recent = points[first_of:]
    if recent[-1][0] - recent[0][0] < rules.peak_seconds / rules.habit_times:
        return None
    begin, end = recent[0][0], recent[-1][0]
    length = (end - begin) / rules.habit_times
    means = []
    for number in range(rules.habit_times):
        since = begin + number * length
        lags = [lag for at, _, _, lag in recent if since <= at <= since + length]
        if not lags:
            return None
        means.append(sum(lags) / len(lags))
    shrinks = all(late < early for early, late in pairwise(means))
    return begin if shrinks and means[-1] <= (1 - rules.slower_share) * means[0] else None


def exceeds_yesterday(points: Sequence[Point], rules: StatusRules) -> bool | None:
    """Return whether clearly more arrived in the last hours than a day before; None: not known.

    They are as many as lie between two samples of a day ago, as those are downsampled.
    """
    span = rules.change_share * _DAY
    if not points or points[0][0] > points[-1][0] - _DAY - span:
        return None
    now = points[-1][0]
    today, yesterday = (_at(points, at)[0] - _at(points, at - span)[0] for at in (now, now - _DAY))
    return today > (1 + rules.change_share) * yesterday


def age_of(points: Sequence[Point], end_lag: int) -> float | None:
    """Return how long ago the log end passed the oldest waiting message; None: before all points.

    Args:
        points: In order of time.
        end_lag: Where no more than that came after the committed offset at first, these are
            markers of transactions: they do not wait, however old they are.
    """
    if not points or points[0][1] > points[-1][2]:
        return None
    now, _, committed, _ = points[-1]
    index = bisect_right(points, committed, key=lambda point: point[1])
    if index < len(points) and points[index][1] - committed <= end_lag:
        committed += end_lag
        index = bisect_right(points, committed, key=lambda point: point[1])
    if index >= len(points):
        return 0.0
    before, after = points[index - 1], points[index]
    share = (committed - before[1]) / (after[1] - before[1])
    return now - (before[0] + share * (after[0] - before[0]))
