"""What one partition of a group is doing: the checks in their order, worst first."""

from __future__ import annotations

from dataclasses import dataclass

from alerting.status.decision import StatusDecision
from alerting.status.departures import came_and_went, gone_for, went_one_by_one
from alerting.status.features import Measurement, lateness_made_good
from alerting.status.model import LagNumbers, PartitionStatus, PartitionWindow, Status, StatusRules
from alerting.status.no_data import unreadable
from alerting.status.numbers import at_a_stand, drain_seconds, numbers_of
from alerting.status.on_time import late, on_time
from alerting.status.phrases import compared_rates, count, duration, messages, rate, rates
from alerting.status.stall_timeout import stall_timeout
from alerting.status.trend import Trend


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """What the partitions of one group show together.

    Attributes:
        advanced_at: Newest commit of any of them, in Unix seconds.
        advances_alone: How often the offset of any of them grew since the group has no members.
        commit_period_seconds: Their usual commit period; None where none is known.
        are_draining: Whether one of them works off a backlog: what it takes, others lack.
    """

    advanced_at: float | None = None
    advances_alone: int = 0
    commit_period_seconds: float | None = None
    are_draining: bool = False


def classify(
    window: PartitionWindow,
    found: Measurement | None,
    peers: Peers,
    now: float | None,
    rules: StatusRules,
) -> PartitionStatus:
    """Return the decision of the first check that applies."""
    if found is None:
        reason = window.unknown_reason or "there is no sample in the window"
        return PartitionStatus(
            topic=window.topic,
            partition=window.partition,
            status=Status.UNKNOWN,
            reason=f"Unknown: {reason}.",
            since=None,
            began_before_window=False,
            numbers=LagNumbers(),
        )
    decision = (
        unreadable(window, found, now, rules)
        or _lost(found)
        or _at_end(found)
        or _rewound(found)
        or _nobody(found, peers, rules)
        or _stalled(found, peers, rules)
        or _moving(found, peers, rules)
    )
    numbers = numbers_of(found)
    if decision.status in _STANDS_STILL:
        numbers = at_a_stand(numbers)
    return PartitionStatus(
        topic=window.topic,
        partition=window.partition,
        status=decision.status,
        reason=decision.reason,
        since=decision.since,
        began_before_window=decision.since is not None and decision.since == found.first_at,
        numbers=numbers,
        decides=decision.decides,
        is_lasting=decision.is_lasting,
    )


def _lost(found: Measurement) -> StatusDecision | None:
    lost, overtaken = found.lost_messages, found.overtaken
    if not lost:
        return None
    before_window = overtaken is None or overtaken.messages < lost
    window = f"in the last {duration(found.span_seconds)}"
    when = "since its last commit" if before_window else window
    text = f"{messages(lost)} lost {when}"
    if overtaken is not None and overtaken.times > 1 and not before_window:
        text += f", at {overtaken.times} times"
    return StatusDecision(
        status=Status.LOSING_DATA,
        reason=f"{text}.",
        since=found.first_at if overtaken is None or before_window else overtaken.since,
    )


def _at_end(found: Measurement) -> StatusDecision | None:
    if not found.at_end:
        return None
    lag = found.newest.lag or 0
    arrival = found.recent.arrival_per_second if found.recent else None
    comes = "" if arrival is None else f", {rate(arrival)} arrive" if arrival > 0 else ", idle"
    if lag == 0:
        return StatusDecision(status=Status.OK, reason=f"Everything is read{comes}.")
    return StatusDecision(
        status=Status.OK,
        reason=f"At the end: a lag of {lag} that never reaches zero is what transaction markers "
        f"leave{comes}.",
    )


def _rewound(found: Measurement) -> StatusDecision | None:
    rewind = found.rewind
    if rewind is None or rewind.was_meant:
        return None
    return StatusDecision(
        status=Status.REWOUND,
        reason=f"Rewound by {messages(rewind.before - rewind.after)}, from offset "
        f"{count(rewind.before)} to {count(rewind.after)}; {messages(found.newest.lag or 0)} wait.",
        since=rewind.at,
    )


def _nobody(found: Measurement, peers: Peers, rules: StatusRules) -> StatusDecision | None:
    """Classify a group without members; one that still commits assigns its partitions itself."""
    absence = found.absence
    if found.members or absence is None:
        return None
    if found.newest.at - absence.seen_at > rules.slight_seconds:
        return None  # what was known of its members is too old
    absent = found.newest.at - absence.since
    poll_seconds = found.poll_seconds or 0.0
    usual = max(rules.slight_seconds, poll_seconds)
    if usual <= absent < rules.half_window_seconds:
        # Members that leave one by one are being replaced: a rolling deploy.
        is_rolling = went_one_by_one(found.window.samples, absence.since, poll_seconds, rules)
        again = lateness_made_good(found, absence.since, rules)
        usual = rules.half_window_seconds if is_rolling else max(usual, again)
    last = max((at for at in (found.last_advance_at, peers.advanced_at) if at), default=None)
    is_working = peers.advances_alone > 1 and last is not None and last > absence.since
    if absence.commits_alone or is_working:
        return None
    if found.waiting.is_crashing and found.waiting.seconds >= rules.confirm_seconds:
        return None  # they come and go: that is no stop, and no restart
    if found.waiting.keeps_coming_back and absent <= rules.usual_periods * absence.longest_seconds:
        return None
    lag = found.newest.lag or 0
    if absent < usual:
        if found.span_seconds < rules.trend_seconds and found.last_advance_at is None:
            return StatusDecision(
                status=Status.UNKNOWN,
                reason=f"Unknown: first seen {duration(absent)} ago, without members; "
                f"{messages(lag)} wait.",
                since=absence.since,
            )
        stalled_before = _stalled(found, peers, rules)
        if stalled_before is not None:
            return stalled_before  # that its members left is no end of it
        if found.waiting.returns and found.waiting_seconds >= rules.half_window_seconds:
            return StatusDecision(
                status=Status.STOPPED,
                reason=f"{late(lag, found.behind_seconds)}: its members came back, committed "
                "nothing and left again.",
                since=found.waiting.since,
            )
        if absence.is_between_runs:
            return StatusDecision(
                status=Status.OK,
                reason=f"Its run ended {duration(absent)} ago; {messages(lag)} wait for the next.",
            )
        return StatusDecision(
            status=Status.NO_MEMBERS,
            reason=f"{gone_for(absent)}: {messages(lag)} wait.",
            since=absence.since,
        )
    patience = rules.first_job_seconds
    if absence.runs:
        patience = rules.job_seconds
    if absence.runs >= rules.habit_times:
        patience = max(rules.peak_seconds, rules.usual_periods * absence.longest_seconds)
    if absence.is_between_runs and absent < patience:
        return StatusDecision(
            status=Status.OK,
            reason=f"Between runs: everything was read when it left {duration(absent)} ago; "
            f"{messages(lag)} wait for the next.",
            since=absence.since,
        )
    arrival = found.recent.arrival_per_second if found.recent else None
    comes = f", {rate(arrival)} more arrive" if arrival else ""
    return StatusDecision(
        status=Status.STOPPED,
        reason=f"{late(lag, found.behind_seconds)}{comes}: nobody consumes.",
        since=absence.since,
    )


def _stalled(found: Measurement, peers: Peers, rules: StatusRules) -> StatusDecision | None:
    since, waiting = found.waiting.since, found.waiting.seconds
    if since is None:
        return None
    peers_advance = peers.advanced_at is not None and peers.advanced_at > since
    needed = stall_timeout(found, peers.commit_period_seconds, rules)
    if not found.end_moved_since_commit and not peers_advance:
        if found.last_advance_at is None and (found.newest.lag or 0) <= rules.minimum_messages:
            return None  # compaction and aborted transactions leave as little, for ever
        needed = max(needed, rules.half_window_seconds)
    if needed <= waiting < rules.half_window_seconds:
        needed = lateness_made_good(found, since, rules)
    if waiting < needed:
        return None
    lag = messages(found.newest.lag or 0)
    if found.waiting.is_crashing:
        while_ = f"its members came and went {found.waiting.returns} times"
    elif found.members is None:
        while_ = "whether anybody consumes could not be read"
    elif found.newest.assigned is False:
        while_ = "no member holds it"
    elif peers_advance:
        while_ = "other partitions of the group advance"
    elif found.end_moved_since_commit:
        while_ = "messages keep arriving"
    else:
        while_ = "nothing arrives"
    return StatusDecision(
        status=Status.STALLED,
        reason=f"No commit with {lag} waiting, while {while_}.",
        since=since,
    )


def _moving(found: Measurement, peers: Peers, rules: StatusRules) -> StatusDecision:
    lag = found.newest.lag or 0
    behind = found.behind_seconds
    material = max(rules.slight_seconds, rules.late_periods * (found.commit_period_seconds or 0.0))
    trend = found.trend
    waiting = found.waiting
    is_back = not waiting.is_crashing and not waiting.keeps_coming_back
    if waiting.was_away and waiting.since is not None and is_back:
        return StatusDecision(
            status=Status.CATCHING_UP,
            reason=f"Members are back, no commit yet: {messages(lag)} wait.",
            since=waiting.back_at,
        )
    keeps_up = StatusDecision(
        status=Status.OK,
        reason=f"{on_time(numbers_of(found), rules)}: {_rates(trend)}{_waits(lag, behind)}.",
    )
    is_small = lag <= rules.minimum_messages or (behind is not None and behind < material)
    if is_small and (found.last_advance_at is not None or trend is not None):
        return keeps_up
    if trend is None and found.resumed_at is not None:
        return StatusDecision(
            status=Status.CATCHING_UP,
            reason=f"Consuming again: {messages(lag)} wait.",
            since=found.resumed_at,
        )
    if trend is None:
        return StatusDecision(
            status=Status.UNKNOWN,
            reason=f"Unknown: seen for {duration(found.span_seconds)} only, {messages(lag)} wait; "
            f"a direction takes {duration(rules.trend_seconds)}.",
            since=found.first_at,
        )
    evidence = compared_rates(trend.arrival_per_second, trend.consumption_per_second)
    direction = trend.direction or (found.full.direction if found.full else 0)
    if found.commit_period_seconds is None and found.resumed_at is None and direction >= 0:
        return StatusDecision(
            status=Status.UNKNOWN,
            reason=f"Unknown: no two commits were seen while messages waited; {messages(lag)} "
            "wait.",
            since=waiting.since,
        )
    rising_for = found.newest.at - (found.lowest_at or found.newest.at)
    growth = found.growth
    too_late = rules.objective_seconds
    if growth is not None and growth.is_swinging and found.exceeds_yesterday is False:
        if growth.read_share >= 1 - rules.much_share:
            too_late = rules.peak_seconds  # the peak of yesterday, which it came back from
    before = found.behind_before_seconds or 0.0
    stays_late = behind is not None and min(before, behind) >= too_late
    # What others work off they take from this one, for a time.
    is_young = growth is None or growth.seconds < rules.lasting_seconds
    is_shared = peers.are_draining and is_young
    is_lasting = growth is not None and growth.is_lasting and not is_shared
    if is_lasting and is_young and came_and_went(found.window.samples, found.newest.at, rules):
        is_lasting = False  # a rolling deploy: those that are there have more to do, for a time
    if direction > 0 and rising_for >= rules.trend_seconds:
        still = max(
            rules.harmless_polls * (found.poll_seconds or 0.0), found.commit_period_seconds or 0.0
        )
        at_highest = found.newest.at - (found.highest_at or found.newest.at) <= still
        is_late = (
            stays_late
            and before <= (behind or 0.0)
            and at_highest
            and not is_shared
            and trend.consumption_per_second > 0  # else it stands still, or is about to commit
            and found.newest.at - found.working_since >= rules.half_window_seconds
        )
        return StatusDecision(
            status=Status.FALLING_BEHIND,
            reason=f"{late(lag, behind)}, falling behind: {evidence}.",
            since=growth.since if growth is not None else found.lowest_at,
            is_lasting=is_late or is_lasting,
        )
    if direction < 0:
        drain = drain_seconds(lag, trend)
        left = "" if drain is None else f", drained in {duration(drain)}"
        return StatusDecision(
            status=Status.CATCHING_UP,
            reason=f"{late(lag, behind)}, catching up{left}: {evidence}.",
            since=found.highest_at,
        )
    if found.shrinks_since is not None:
        return StatusDecision(
            status=Status.CATCHING_UP,
            reason=f"{late(lag, behind)}, catching up slowly: {evidence}.",
            since=found.shrinks_since,
        )
    if growth is not None and is_lasting:
        return StatusDecision(
            status=Status.FALLING_BEHIND,
            reason=f"{late(lag, behind)}, falling behind slowly, by "
            f"{messages(growth.messages)} in {duration(growth.seconds)}: {evidence}.",
            since=growth.since,
            is_lasting=True,
        )
    steady = max(
        rules.half_window_seconds, rules.usual_periods * (found.commit_period_seconds or 0.0)
    )
    if behind is not None and behind >= steady and direction == 0:
        return StatusDecision(
            status=Status.FALLING_BEHIND,
            reason=f"{late(lag, behind)}, not catching up: {evidence}.",
            since=found.first_at,
            is_lasting=stays_late
            and found.newest.at - found.working_since >= rules.lasting_seconds
            and not peers.are_draining
            and (
                growth is None
                or not growth.is_swinging
                or found.exceeds_yesterday is True  # no peak that it came back from
                or trend.growth_per_second > 0
            ),
        )
    return keeps_up


def _rates(trend: Trend | None) -> str:
    if trend is None:
        return "commits advance"
    return rates(trend.arrival_per_second, trend.consumption_per_second)


def _waits(lag: int, behind: float | None) -> str:
    delay = f" ({duration(behind)} behind)" if behind is not None and lag else ""
    return f"; {messages(lag)} wait{'s' if lag == 1 else ''}{delay}"


_STANDS_STILL = (Status.STOPPED, Status.STALLED, Status.NO_MEMBERS)
