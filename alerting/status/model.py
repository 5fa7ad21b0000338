"""What a group's status is decided from, and what is decided: values without behaviour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Status(StrEnum):
    """What a partition or a group is doing, in the words of the pages."""

    OK = "OK"
    CATCHING_UP = "CATCHING_UP"
    FALLING_BEHIND = "FALLING_BEHIND"
    STALLED = "STALLED"
    STOPPED = "STOPPED"
    REWOUND = "REWOUND"
    LOSING_DATA = "LOSING_DATA"
    UNKNOWN = "UNKNOWN"


WORST_FIRST: tuple[Status, ...] = (
    Status.LOSING_DATA,
    Status.STOPPED,
    Status.STALLED,
    Status.REWOUND,
    Status.FALLING_BEHIND,
    Status.UNKNOWN,
    Status.CATCHING_UP,
    Status.OK,
)
"""A group takes the first of these that one of its partitions has."""

LATE = frozenset(WORST_FIRST[: WORST_FIRST.index(Status.UNKNOWN)])
"""The states in which a group does not do its work as it should."""


DOWNSAMPLED_TO = 0.1
"""Of its age: the longest gap that thinning leaves after an older sample."""


class Sample(NamedTuple):
    """One poll of one partition of a group; None is a value that could not be obtained.

    A tuple, of which millions are made in a fifth of the time of a frozen dataclass.

    Attributes:
        committed: Committed offset; None also where nothing was ever committed.
        lag: Messages that wait: ``log_end - committed``, never negative.
        state: State of the group, for example ``stable``, ``empty``, ``preparing_rebalance``.
    """

    at: float
    committed: int | None = None
    log_start: int | None = None
    log_end: int | None = None
    lag: int | None = None
    time_lag_seconds: float | None = None
    assigned: bool | None = None
    members: int | None = None
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionWindow:
    """The samples of one partition over about ten minutes, oldest first.

    Attributes:
        samples: Samples in order of time, at any interval; polls may be missing.
        unknown_reason: Why the newest sample lacks a value, where the collector could tell.
    """

    topic: str
    partition: int
    samples: tuple[Sample, ...]
    unknown_reason: str | None = None


OBJECTIVE_SECONDS = 300.0
"""The time lag that a group is not to exceed, where nothing else was agreed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRules:
    """The thresholds of the evaluation.

    Attributes:
        marker_messages: A lag up to this that never reaches zero is taken for the markers of
            transactions at the end of a log, which no consumer ever commits.
        minimum_messages: Fewer waiting messages are never a trend.
        material_seconds: A shorter delay is never a trend.
        steady_seconds: A backlog of this age that neither grows nor shrinks is not normal.
        trend_seconds: How long a direction must be visible before it is called one.
        window_seconds: Newer samples are classified; older ones are the baseline.
        lasting_seconds: A steady growth of the lag with unchanged arrivals is lasting after this.
        slower_seconds: It is lasting after this where the group reads less than it did before,
        slower_behind_seconds: and is this late.
        lasting_peak_seconds: It is lasting after this where more arrives than before.
        long_seconds: Any growth is lasting after this.
        objective_seconds: The time lag that the group is not to exceed. Growth beyond is lasting,
        late_swing_seconds: or beyond this, where arrivals swing and it may be a daily peak.
        confirm_seconds: It must have been beyond for this long.
        stall_polls: The stall timeout is at least this many polls without a commit,
        stall_seconds: at least this long,
        stall_periods: and at least this many of the partition's usual commit periods.
        few_stall_periods: Periods instead of ``stall_periods`` before four were seen.
        batch_stall_factor: The timeout is this many times longer while one commit's worth waits,
        batch_stall_seconds: but at most this long.
        no_baseline_stall_seconds: Stall timeout where no commit period is known yet,
        no_baseline_age_seconds: and the messages, or the first sight of them, are this old.
        idle_stall_seconds: Stall timeout where nothing arrives and no other partition advances.
        beyond_stall_seconds: Stall timeout where the committed offset is beyond the log end.
        rebalance_stall_seconds: Stall timeout during a rebalance.
        away_stall_seconds: Stall timeout where members have just come back.
        stop_seconds: A group without members is stopped after this.
        job_seconds: A job, which comes, reads all and leaves, is stopped after an absence of this
        job_absences: or of this many times its longest absence.
        many_runs: A job with this many runs
        often_job_seconds: is stopped after an absence of at least this
        often_absences: and of this many times its longest absence.
        first_job_seconds: Longest absence of a job that was never seen to run.
        stale_polls: A newest sample that is older than this many polls says nothing about now.
    """

    marker_messages: int = 2
    minimum_messages: int = 10
    material_seconds: float = 15.0
    steady_seconds: float = 300.0
    trend_seconds: float = 60.0
    window_seconds: float = 600.0
    lasting_seconds: float = 900.0
    slower_seconds: float = 300.0
    slower_behind_seconds: float = 30.0
    lasting_peak_seconds: float = 1500.0
    long_seconds: float = 2700.0
    objective_seconds: float = OBJECTIVE_SECONDS
    late_swing_seconds: float = 3600.0
    confirm_seconds: float = 120.0
    stall_polls: int = 3
    stall_seconds: float = 45.0
    stall_periods: float = 2.5
    few_stall_periods: float = 4.0
    batch_stall_factor: float = 6.0
    batch_stall_seconds: float = 600.0
    no_baseline_stall_seconds: float = 600.0
    no_baseline_age_seconds: float = 1800.0
    idle_stall_seconds: float = 300.0
    beyond_stall_seconds: float = 600.0
    rebalance_stall_seconds: float = 150.0
    away_stall_seconds: float = 120.0
    stop_seconds: float = 30.0
    job_seconds: float = 26 * 3600.0
    job_absences: float = 1.5
    many_runs: int = 3
    often_job_seconds: float = 3600.0
    often_absences: float = 3.0
    first_job_seconds: float = 6 * 3600.0
    stale_polls: float = 4.0


DEFAULT_STATUS_RULES = StatusRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class LagNumbers:
    """The numbers behind a status; None is unknown, never zero.

    Attributes:
        lag: Messages that wait (a group: over the partitions where it is known).
        behind_seconds: How old the oldest of them is: measured, else lag ÷ arrival (a group: the
            worst partition).
        arrival_per_second: Slope of the log end over the recent half of the window.
        consumption_per_second: Slope of the committed offset over the same time.
        growth_per_second: Slope of the lag over the same time; negative while it shrinks.
        drain_seconds: lag ÷ (consumption - arrival) while it shrinks.
        lost_messages: Messages deleted before the group committed them, now or at some time in
            the window.
        commit_period_seconds: Longest pause that ended in a commit while messages waited.
    """

    lag: int | None = None
    behind_seconds: float | None = None
    arrival_per_second: float | None = None
    consumption_per_second: float | None = None
    growth_per_second: float | None = None
    drain_seconds: float | None = None
    lost_messages: int | None = None
    without_commit_seconds: float | None = None
    commit_period_seconds: float | None = None
    members: int | None = None
    span_seconds: float = 0.0
    samples: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStatus:
    """What one partition of a group is doing.

    Attributes:
        since: When it began, in Unix seconds; None where that is not known.
        began_before_window: Whether it was so already at ``since``, the first sample.
        subscribed: False where the group reads other topics but no longer this one.
        decides: False where an unknown value says nothing about the group: a partition that was
            never committed and that receives nothing.
        is_lasting: Of a group that falls behind: whether it is no passing peak.
    """

    topic: str
    partition: int
    status: Status
    reason: str
    since: float | None
    began_before_window: bool
    numbers: LagNumbers
    subscribed: bool = True
    decides: bool = True
    is_lasting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStatus:
    """What a group is doing: its worst partition, in words about the group.

    Attributes:
        since: When it began, in Unix seconds; None where that is not known.
        began_before_window: Whether it was so already at ``since``, the first sample.
        numbers: Sums over partitions, and the worst partition's delay.
        unknown_partitions: Partitions whose lag is unknown: ``numbers.lag`` lacks them.
        is_lasting: Of a group that falls behind: whether it is no passing peak. Nobody need be
            woken for one that the group recovers from within minutes.
    """

    status: Status
    reason: str
    since: float | None = None
    began_before_window: bool = False
    numbers: LagNumbers
    unknown_partitions: int = 0
    partitions: Sequence[PartitionStatus] = ()
    is_lasting: bool = False

    def count(self, status: Status) -> int:
        """Return how many partitions have ``status``."""
        return sum(1 for partition in self.partitions if partition.status is status)
