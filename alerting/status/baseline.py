"""From a group's own history: how long its pauses between commits and its absences are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from alerting.status.model import CHANGE_SHARE, Sample, StatusRules

_WITHOUT_MEMBERS = frozenset({"empty", "dead"})


@lru_cache(maxsize=256)
def plain_state(state: str | None) -> str:
    """Return a group's state without case and separators, as clients differ in both."""
    return "".join(filter(str.isalpha, (state or "").lower()))


def is_empty(state: str | None) -> bool:
    """Return whether a group in this state has no members."""
    return plain_state(state) in _WITHOUT_MEMBERS


def members_of(sample: Sample) -> int | None:
    """Return the group's members; its state answers where the number is unknown."""
    if sample.members is not None:
        return sample.members
    return 0 if is_empty(sample.state) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """How long a partition usually waits for its next commit.

    Attributes:
        usual_seconds: The longest pause between two commits while messages waited, unless it
            happened once only and was three times as long as any other; None before the first.
        seen: How many pauses were seen.
    """

    usual_seconds: float | None = None
    seen: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Messages that wait now, and what was committed before.

    Attributes:
        since: First of the trailing samples with messages waiting and no commit; None: none wait.
        seconds: How much of the time since then was seen: polls that are missing, values that
            could not be read and times without members do not count.
        last_advance_at: Last sample in which the committed offset had grown.
        was_away: Whether the group had no members meanwhile.
        back_at: First sample with members since it had none last; None: it did not come back.
        was_rebalancing: Whether it shared out its partitions meanwhile.
        returns: How often members came back meanwhile, and committed nothing. From the second
            time on it is no restart, and times without members count as well.
        pauses: How long such a wait usually is.
        resumed_at: First commit after the group was away, or after the longest of its pauses
            where that is not usual; None: never. Of a group that keeps coming back, the first
            commit after the first of these absences.
        keeps_coming_back: Whether members come and go, and what is committed between is not all
            there is.
    """

    since: float | None = None
    seconds: float = 0.0
    last_advance_at: float | None = None
    was_away: bool = False
    back_at: float | None = None
    was_rebalancing: bool = False
    pauses: Pauses = Pauses()
    resumed_at: float | None = None
    returns: int = 0
    keeps_coming_back: bool = False

    @property
    def is_crashing(self) -> bool:
        """Whether members come and go, and nothing is read."""
        return _is_crashing(self.returns)


def _is_crashing(returns: int) -> bool:
    return returns > 1


def waiting_of(
    samples: Sequence[Sample], end_lag: int, poll_seconds: float, rules: StatusRules
) -> Waiting:
    """Read off how long messages have waited without a commit, and how long they usually do.

    The clock starts when messages wait, and again at each commit: an idle partition has no commits
    either. Only pauses between two observed commits count; the first may be cut off. Where members
    could not be read, their last known number holds.

    Args:
        samples: In order of time.
        end_lag: A lag up to this is none.
        poll_seconds: Usual time between samples.
        rules: Thresholds.
    """
    trail = _Trail()
    last_advance: float | None = None
    committed: int | None = None
    end_before: int | None = None
    pause_from: float | None = None
    waited_at: float | None = None
    longest, second, most, unseen, seen = 0.0, 0.0, 0.0, 0.0, 0
    resumed_at, longest_ended_at = None, None
    comebacks: list[float] = []
    now = samples[-1].at
    gap = rules.missed_polls * poll_seconds
    away = False
    for sample in samples:
        members = members_of(sample)
        if members is not None:
            away = members == 0
        if sample.committed is not None:
            if committed is not None and sample.committed > committed:
                if pause_from is not None and waited_at is not None:
                    # Of downsampled ones each may have a commit: what passed between two is no
                    # pause. What passed between two of the same offset is part of one, unless
                    # nobody looked.
                    pause = waited_at - pause_from - unseen
                    is_seen = sample.at - waited_at <= gap
                    if is_seen:
                        pause += poll_seconds
                        seen += 1
                    if is_seen or pause <= rules.half_window_seconds:
                        if pause + unseen >= most:
                            most, longest_ended_at = pause + unseen, sample.at
                        longest, second = max(longest, pause), max(second, min(longest, pause))
                if trail.was_away:
                    resumed_at = sample.at
                    comebacks.append(sample.at)
                last_advance = waited_at = pause_from = sample.at
                trail, unseen = _Trail(), 0.0
            committed = sample.committed
            if end_before is not None and committed >= end_before:
                comebacks.clear()  # it has read what was there a poll ago
        end_before = sample.log_end
        if sample.lag is None:
            waited_at = pause_from = None
            continue
        if sample.lag <= end_lag:
            trail = _Trail()
            comebacks.clear()
            if last_advance != sample.at:
                pause_from = waited_at = None
            continue
        trail.add(sample, away, waited_at, now, gap)
        if away:
            pause_from = None
        elif waited_at is not None and not _is_seen(waited_at, sample.at, now, gap):
            unseen += sample.at - waited_at
        waited_at = None if away else sample.at
    usual = (
        longest if seen < rules.habit_times or longest <= rules.usual_periods * second else second
    )
    stood_still = usual < longest or most > rules.usual_periods * usual
    if stood_still and longest_ended_at is not None:
        resumed_at = max(resumed_at or longest_ended_at, longest_ended_at)
    comebacks = [at for at in comebacks if at >= now - rules.peak_seconds]
    keeps_coming_back = len(comebacks) >= rules.habit_times
    if keeps_coming_back:
        resumed_at = comebacks[0]
    pauses = Pauses(usual_seconds=usual if seen else None, seen=seen)
    return Waiting(
        since=trail.since,
        seconds=trail.seconds + (trail.away_seconds if _is_crashing(trail.returns) else 0.0),
        last_advance_at=last_advance,
        was_away=trail.was_away,
        back_at=trail.back_at,
        was_rebalancing=trail.was_rebalancing,
        pauses=pauses,
        resumed_at=resumed_at,
        returns=trail.returns,
        keeps_coming_back=keeps_coming_back,
    )


def _is_seen(before: float, at: float, now: float, gap: float) -> bool:
    """Return whether no poll is missing between two samples; older ones are downsampled."""
    return at - before <= max(gap, CHANGE_SHARE * (now - before))


@dataclass(slots=True, kw_only=True)
class _Trail:
    """What was seen since messages wait without a commit; see ``Waiting``."""

    since: float | None = None
    seconds: float = 0.0
    away_seconds: float = 0.0
    was_away: bool = False
    back_at: float | None = None
    was_rebalancing: bool = False
    returns: int = 0
    newest: tuple[float, bool] | None = None

    def add(
        self, sample: Sample, away: bool, waited_at: float | None, now: float, gap: float
    ) -> None:
        """Take over a sample with messages waiting.

        A distance of more than ``gap`` to the sample before does not count, unless samples in
        between were dropped since.
        """
        if self.newest is not None:
            at, was_away = self.newest
            step = sample.at - at if _is_seen(at, sample.at, now, gap) else 0.0
            if away or was_away:
                self.away_seconds += step
            elif waited_at is not None:
                self.seconds += step
            if was_away and not away:
                self.returns += 1
                self.back_at = sample.at
        self.newest = sample.at, away
        self.was_away = self.was_away or away
        self.was_rebalancing = self.was_rebalancing or plain_state(sample.state) in REBALANCING
        self.since = sample.at if self.since is None else self.since


REBALANCING = frozenset({"preparingrebalance", "completingrebalance", "assigning", "reconciling"})
"""States between two assignments, as ``plain_state`` writes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """The group has no members now.

    Attributes:
        since: First of the trailing samples without one.
        is_between_runs: Whether it has come, read everything and left before, or was seen first
            with everything read: a job that runs now and then.
        runs: How often it was seen to do so.
        longest_seconds: The longest earlier absence that it came back from; 0 without one.
        commits_alone: Whether it has committed again and again without a member ever having been
            seen: its consumers assign their partitions themselves.
        seen_at: The newest sample in which members could be read.
        advances: How often the committed offset grew meanwhile. Once is no sign of life: an
            operator may have moved it.
    """

    since: float
    is_between_runs: bool
    longest_seconds: float
    commits_alone: bool
    runs: int
    seen_at: float
    advances: int = 0


@dataclass(slots=True, kw_only=True)
class _Run:
    """A time in which the group had members."""

    begin: float
    first_lag: int | None
    last_lag: int | None = None
    away_before: float = 0.0
    at_first_sight: bool = False
    last_at: float = 0.0
    last_end: int | None = None

    def add(self, sample: Sample) -> None:
        """Take over a sample with members."""
        self.last_at = sample.at
        self.last_lag = sample.lag if sample.lag is not None else self.last_lag
        self.last_end = sample.log_end if sample.log_end is not None else self.last_end

    def leave(self, sample: Sample) -> None:
        """Take over the first sample without members.

        Messages that arrived after the last commit of the run do not count against it. Of long ago
        few samples are kept: what had arrived when the group was last seen tells what it had read.
        """
        late = [self.last_lag, sample.lag]
        if self.last_end is not None and sample.committed is not None:
            late.append(max(0, self.last_end - sample.committed))
        self.last_lag = min((lag for lag in late if lag is not None), default=None)

    def is_job(self, end_lag: int, *, was_awaited: bool) -> bool:
        """Return whether it was that of a job: it read what had come together, and left.

        Args:
            end_lag: No more than that waits where everything was read.
            was_awaited: Whether the group was taken for a job already.
        """
        if self.last_lag is None or self.first_lag is None or self.last_lag > end_lag:
            return False
        if self.at_first_sight:
            return CHANGE_SHARE * self.first_lag > self.last_lag + end_lag
        return was_awaited or self.last_at - self.begin < self.away_before


def absence_of(
    samples: Sequence[Sample], poll_seconds: float, rules: StatusRules
) -> Absence | None:
    """Return since when the group has no members, and whether that is usual; None: it has some."""
    newest = next((s for s in reversed(samples) if members_of(s) is not None), None)
    if newest is None or members_of(newest):
        return None
    since: float | None = None
    left_at: float | None = None
    committed: int | None = None
    is_job, runs, longest, advances = False, 0, 0.0, 0
    run: _Run | None = None
    commits: list[float] = []
    had_members = False
    for index, sample in enumerate(samples):
        members = members_of(sample)
        if members is None:
            continue
        if members == 0:
            if run is not None:
                run.leave(sample)
                runs += run.is_job(
                    _one_poll(samples, index, poll_seconds, rules), was_awaited=is_job or runs > 0
                )
                run, left_at, committed = None, sample.at, None
            if since is None:
                since = sample.at
                is_job = is_job or (index == 0 and _was_read(samples))
            elif committed is not None and (sample.committed or 0) > committed:
                # The last commits of a run may be seen after its members have left.
                if left_at is None or sample.at - left_at > rules.missed_polls * poll_seconds:
                    commits.append(sample.at)
                    advances += 1
                    if _read_all(samples[index - 1], sample):
                        # It came and left between two of the downsampled ones.
                        longest = max(longest, samples[index - 1].at - since)
                        since, runs = sample.at, runs + 1
            committed = sample.committed if sample.committed is not None else committed
        else:
            had_members = True
            if run is None:
                away = 0.0 if since is None else sample.at - since
                longest = max(longest, away)
                run = _Run(
                    begin=sample.at,
                    first_lag=sample.lag,
                    last_lag=None,
                    away_before=away,
                    at_first_sight=since is None,
                )
            run.add(sample)
            since, advances = None, 0
    if since is None:
        return None
    commits_alone = not had_members and _are_close(commits, rules)
    return Absence(
        since=since,
        is_between_runs=is_job or runs > 0,
        longest_seconds=longest,
        commits_alone=commits_alone,
        runs=runs,
        seen_at=newest.at,
        advances=advances,
    )


def _was_read(samples: Sequence[Sample]) -> bool:
    """Return whether nothing waited at first sight.

    Between two runs of a job messages nearly always wait. A few messages that wait at the first
    sample may just as well be of a group that stopped a moment ago.
    """
    return samples[0].lag == 0


def _read_all(before: Sample, sample: Sample) -> bool:
    """Return whether no more waits than came since the sample before.

    An operator who moves the offsets of an absent group, and leaves messages, has read nothing.
    """
    if sample.lag is None or sample.log_end is None or before.log_end is None:
        return True
    return sample.lag <= max(0, sample.log_end - before.log_end)


def _are_close(commits: Sequence[float], rules: StatusRules) -> bool:
    """Return whether any few commits are so close to each other that no job runs that often."""
    few = zip(commits, commits[rules.habit_times - 1 :], strict=False)
    return any(last - first <= rules.window_seconds for first, last in few)


def _one_poll(
    samples: Sequence[Sample], index: int, poll_seconds: float, rules: StatusRules
) -> int:
    """Return what arrives in a poll: no more than that waits where everything was read."""
    before, after = samples[max(0, index - 1)], samples[index]
    if before.log_end is None or after.log_end is None:
        return rules.minimum_messages
    arrived = max(0, after.log_end - before.log_end)
    share = min(1.0, poll_seconds / max(after.at - before.at, 1e-9))
    return max(rules.minimum_messages, round(rules.missed_polls * share * arrived))
