"""What can be read off the samples of one partition, before anything is classified."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter, sub

from alerting.status.baseline import (
    REBALANCING,
    Absence,
    Waiting,
    absence_of,
    members_of,
    plain_state,
    waiting_of,
)
from alerting.status.growth import (
    Growth,
    Point,
    age_of,
    exceeds_yesterday,
    growth_of,
    shrinks_since,
)
from alerting.status.model import PartitionWindow, Sample, StatusRules
from alerting.status.offset_faults import (
    Overtaken,
    Rewind,
    came_to_new_log_at,
    grew_since,
    largest_commit,
    overtaken,
    present_log,
    reads_to_end,
    rewind,
)
from alerting.status.trend import Trend, draining, level_trend, trend_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What the samples of one partition show.

    Attributes:
        poll_seconds: Usual distance between samples; None with fewer than two.
        span_seconds: From the first to the last sample of the present log.
        log_restarted_at: When the log end went backwards: a recreated or truncated topic. Nothing
            before it is measured.
        rewind: The last step backwards that the group has not caught up with again.
        waiting: Messages that wait and the pauses between commits, over all samples.
        end_moved_since_commit: Whether the log end grew since messages wait without a commit.
        largest_commit: Most messages that were committed from one sample to the next.
        absence: Since when the group has no members; None: it has, or it is unknown.
        end_lag: A lag up to this is none: markers of transactions.
        members: Members in the newest sample; 0 also where only the state says so.
        is_rebalancing: Whether the newest sample is from the middle of a rebalance.
        draining: Trend of the newest polls where the lag shrinks from each to the next and clearly
            more is consumed than arrives: longer ones still have the wave that is worked off.
        full: Trend over the whole window, where the newer half leaves anything open.
        resumed_at: When it last began again, after it was away or stood still.
        shrinks_since: Since when the lag shrinks, if slowly; see ``growth.shrinks_since``.
        age_seconds: Time since the log end passed the committed offset; None where no sample is
            as old.
        age_before_seconds: The same, as it was ``StatusRules.confirm_seconds`` ago.
        lag_before: The lag of that moment; None where it is not known.
        exceeds_yesterday: Whether clearly more arrives than a day ago; None where that is unknown.
    """

    window: PartitionWindow
    newest: Sample
    poll_seconds: float | None
    span_seconds: float
    log_restarted_at: float | None = None
    rewind: Rewind | None = None
    waiting: Waiting
    end_moved_since_commit: bool = False
    largest_commit: int = 0
    overtaken: Overtaken | None = None
    absence: Absence | None
    end_lag: int
    reads_at_once: bool = False
    members: int | None
    is_rebalancing: bool
    recent: Trend | None
    full: Trend | None
    lowest_at: float | None
    highest_at: float | None
    draining: Trend | None = None
    growth: Growth | None = None
    resumed_at: float | None = None
    shrinks_since: float | None = None
    age_seconds: float | None = None
    age_before_seconds: float | None = None
    lag_before: int | None = None
    exceeds_yesterday: bool | None = None

    @property
    def at_end(self) -> bool:
        """Whether nothing waits now but, at most, transaction markers."""
        return self.newest.lag is not None and self.newest.lag <= self.end_lag

    @property
    def trend(self) -> Trend | None:
        """The trend that tells what it does now: the newest that there is."""
        return self.draining or self.recent or self.full

    @property
    def last_advance_at(self) -> float | None:
        """Last sample in which the committed offset had grown."""
        return self.waiting.last_advance_at

    @property
    def commit_period_seconds(self) -> float | None:
        """The usual longest pause between two commits while messages waited."""
        return self.waiting.pauses.usual_seconds

    def grew_since(self, since: float) -> bool:
        """Return whether messages arrived since a moment."""
        return grew_since(self.window.samples, since)

    @property
    def working_since(self) -> float:
        """Since when it works as it does: since it was away, stood still or was rewound."""
        rewound = self.rewind.at if self.rewind is not None else self.first_at
        return max(self.first_at, self.resumed_at or self.first_at, rewound)

    @property
    def first_at(self) -> float:
        """Time of the first sample in the window."""
        return self.window.samples[0].at

    @property
    def waiting_seconds(self) -> float:
        """Time without a commit while messages wait; 0 where nothing waits."""
        return 0.0 if self.waiting.since is None else self.newest.at - self.waiting.since

    @property
    def lost_messages(self) -> int | None:
        """Messages deleted uncommitted: those below the log start now, or the most in this window.

        None where an offset is unknown.
        """
        if self.newest.log_start is None or self.newest.committed is None:
            return None
        lost = max(
            0,
            self.newest.log_start - self.newest.committed,
            self.overtaken.messages if self.overtaken else 0,
        )
        # Markers that nobody commits are deleted like messages.
        return lost if lost > self.end_lag else 0

    @property
    def behind_seconds(self) -> float | None:
        """Age of the oldest waiting message: measured, else lag ÷ the rate at which it arrived."""
        if self.newest.lag is None:
            return None
        if self.newest.lag == 0:
            return 0.0
        if self.newest.time_lag_seconds is not None:
            return self.newest.time_lag_seconds
        return self._age(self.age_seconds, self.newest.lag)

    @property
    def behind_before_seconds(self) -> float | None:
        """The same, as it was ``StatusRules.confirm_seconds`` ago."""
        return self._age(self.age_before_seconds, self.lag_before)

    def older_since(self, seconds: float) -> tuple[float, bool] | None:
        """Return since when, without a break, the oldest waiting message is as old as that.

        With it stands whether it may have been so before: in no sample it is known to be younger.
        None where it is not as old, or nobody knows.
        """
        if (self.behind_seconds or 0.0) < seconds:
            return None
        samples, since = self.window.samples, self.newest.at
        points = _points(samples)
        for sample in reversed(samples):
            age = 0.0 if sample.lag == 0 else _age_at(sample.at, samples, points, self.end_lag)
            if age is None:
                continue
            if age < seconds:
                return since, False
            since = sample.at
        return since, True

    def _age(self, seen: float | None, lag: int | None) -> float | None:
        if seen is not None or lag is None:
            return seen
        for trend in (self.recent, self.full):
            if trend is not None and trend.arrival_per_second > 0:
                return lag / trend.arrival_per_second
        return None


def lateness_made_good(found: Measurement, before: float, rules: StatusRules) -> float:
    """Return for how long it may be late again, as it was before and worked it off by itself.

    Of thinned samples the latest may be gone: three times what is left counts, but no more than
    half a window. What was later was no habit, whatever it was.

    Args:
        found: What is known of the partition.
        before: When it stopped to commit, in Unix seconds.
        rules: Thresholds.
    """
    samples, end_lag = found.window.samples, found.end_lag
    points = _points(samples)
    made_good = worst = 0.0
    for sample in samples:
        if sample.at >= before:
            break
        age = 0.0 if sample.lag == 0 else _age_at(sample.at, samples, points, end_lag)
        if age is not None and age > rules.slight_seconds:
            worst = max(worst, age)
        elif age is not None:
            if worst <= rules.half_window_seconds:
                made_good = max(made_good, worst)
            worst = 0.0
    if made_good < rules.stall_seconds:
        return 0.0
    return min(rules.half_window_seconds, rules.usual_periods * made_good)


def is_rebalancing(sample: Sample) -> bool:
    """Return whether the group was between two assignments."""
    return plain_state(sample.state) in REBALANCING


def measure(window: PartitionWindow, rules: StatusRules) -> Measurement | None:
    """Read off the samples what can be read off; None where there is none."""
    if not window.samples:
        return None
    return (_standing_still if _stands_still(window.samples) else _measured)(window, rules)


def _stands_still(samples: Sequence[Sample]) -> bool:
    """Return whether nothing moved and nothing waits in any sample, as in most partitions."""
    first = samples[0]
    if first.lag != 0 or first.committed is None or first.log_end is None:
        return False
    return len(set(map(_OFFSETS, samples))) == 1


_OFFSETS = attrgetter("committed", "log_start", "log_end", "lag")


def _standing_still(window: PartitionWindow, rules: StatusRules) -> Measurement:
    """Return what ``_measured`` finds of samples that stand still, in a fifth of the time."""
    newest = window.samples[-1]
    samples = _of_window(window.samples, rules)
    poll_seconds = _usual_step(samples)
    known = [sample.at for sample in samples]
    middle = newest.at - max(rules.trend_seconds, (newest.at - known[0]) / 2)
    return Measurement(
        window=window,
        newest=newest,
        poll_seconds=poll_seconds,
        span_seconds=newest.at - known[0],
        waiting=Waiting(),
        absence=absence_of(window.samples, poll_seconds or 0.0, rules),
        end_lag=rules.marker_messages,
        members=members_of(newest),
        is_rebalancing=is_rebalancing(newest),
        recent=level_trend(known[bisect_left(known, middle) :], rules),
        full=level_trend(known, rules),
        lowest_at=newest.at,
        highest_at=newest.at,
    )


def _measured(window: PartitionWindow, rules: StatusRules) -> Measurement:
    """Read off samples of any kind what can be read off."""
    of_window = _of_window(window.samples, rules)
    absence = absence_of(window.samples, _usual_step(of_window) or 0.0, rules)
    worked = window.samples
    if absence is not None and absence.commits_alone:
        # That it has no members says nothing about whether it works.
        worked = tuple(sample._replace(members=None, state=None) for sample in worked)
    present, restarted_at = present_log(worked)
    newest = present[-1]
    recent_from = newest.at - rules.window_seconds
    samples = _of_window(present, rules)
    poll_seconds = _usual_step(samples)
    end_lag = 0 if reads_to_end(present) else rules.marker_messages
    rewound = rewind(samples, rules)
    since_rewind = (
        present if rewound is None else [sample for sample in present if sample.at >= rewound.at]
    )
    waiting = waiting_of(worked, end_lag, poll_seconds or 0.0, rules)
    points = _points(since_rewind)
    known = points[bisect_left(points, recent_from, key=itemgetter(0)) :]
    period = waiting.pauses.usual_seconds
    came_at = came_to_new_log_at(present, rules)
    resumed_at = max(filter(None, (waiting.resumed_at, came_at)), default=None)
    if resumed_at is not None:
        # What it did before it was away or stood still says nothing about where it goes.
        known = [point for point in known if point[0] >= resumed_at]
    lags = [(at, lag) for at, _, _, lag in known]
    middle = newest.at - max(rules.trend_seconds, (newest.at - samples[0].at) / 2)
    recent = trend_of([point for point in known if point[0] >= middle], period, rules)
    is_open = recent is None or recent.direction == 0 or recent.arrival_per_second == 0
    lag = newest.lag
    rising = points if resumed_at is None else [one for one in points if one[0] >= resumed_at]
    before = newest.at - rules.confirm_seconds
    is_measured = bool(points) and points[-1][0] == newest.at
    return Measurement(
        window=window,
        newest=newest,
        poll_seconds=poll_seconds,
        span_seconds=newest.at - samples[0].at,
        log_restarted_at=restarted_at,
        rewind=rewound,
        waiting=waiting,
        end_moved_since_commit=grew_since(samples, waiting.since),
        largest_commit=largest_commit(samples),
        overtaken=overtaken(samples),
        absence=absence,
        end_lag=end_lag,
        reads_at_once=reads_to_end(present, from_end=True),
        members=members_of(window.samples[-1]),
        is_rebalancing=is_rebalancing(newest),
        recent=recent,
        full=trend_of(known, period, rules) if is_open else None,
        draining=draining(known, period, rules) if lag and lag > end_lag else None,
        lowest_at=max(lags, key=lambda point: (-point[1], point[0]))[0] if lags else None,
        highest_at=max(lags, key=lambda point: (point[1], point[0]))[0] if lags else None,
        growth=growth_of(rising, period, rules) if lag and lag > end_lag else None,
        resumed_at=resumed_at,
        shrinks_since=shrinks_since(rising, rules) if lag and lag > end_lag else None,
        age_seconds=age_of(points, end_lag) if lag and is_measured else None,
        age_before_seconds=_age_at(before, samples, points, end_lag) if lag else None,
        lag_before=points[index - 1][3] if lag and (index := _known_by(points, before)) else None,
        exceeds_yesterday=exceeds_yesterday(points, rules) if lag and lag > end_lag else None,
    )


_time = attrgetter("at")


def _points(samples: Sequence[Sample]) -> list[Point]:
    return [
        (sample.at, sample.log_end, sample.committed, sample.lag)
        for sample in samples
        if sample.log_end is not None and sample.committed is not None and sample.lag is not None
    ]


def _age_at(
    at: float, samples: Sequence[Sample], points: Sequence[Point], end_lag: int
) -> float | None:
    """Return the age of the oldest waiting message at a moment: measured, else by the log end."""
    index = bisect_right(samples, at, key=_time)
    if index and samples[index - 1].time_lag_seconds is not None:
        return samples[index - 1].time_lag_seconds
    return age_of(points[: _known_by(points, at)], end_lag)


def _known_by(points: Sequence[Point], at: float) -> int:
    return bisect_right(points, at, key=itemgetter(0))


def _of_window(samples: Sequence[Sample], rules: StatusRules) -> Sequence[Sample]:
    """Return the samples that are not from before the window: those are downsampled."""
    return samples[bisect_left(samples, samples[-1].at - rules.window_seconds, key=_time) :]


def _usual_step(samples: Sequence[Sample]) -> float | None:
    times = list(map(_time, samples))
    steps = sorted(map(sub, times[1:], times))
    return steps[len(steps) // 2] if steps else None
