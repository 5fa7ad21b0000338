"""What a group's status is decided from, and what is decided: values without behaviour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple


class Status(StrEnum):
    """What a partition or a group is doing, in the words of the pages."""

    OK = "OK"
    CATCHING_UP = "CATCHING_UP"
    NO_MEMBERS = "NO_MEMBERS"
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
    Status.NO_MEMBERS,
    Status.CATCHING_UP,
    Status.OK,
)
"""A group takes the first of these that one of its partitions has."""

LATE = frozenset(WORST_FIRST[: WORST_FIRST.index(Status.UNKNOWN)])
"""The states in which a group does not do its work as it should."""

FINE = frozenset({Status.OK, Status.CATCHING_UP, Status.NO_MEMBERS})
"""The states that give no reason to act: a restart, too, leaves a group without members."""


CHANGE_SHARE = 0.1
"""A smaller change is none; of its age, the longest gap that thinning leaves after a sample."""


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


def _setting(default: float, unit: str, reason: str) -> Any:
    """Return a field of ``StatusRules`` with its unit and why it is what it is."""
    return field(default=default, metadata={"unit": unit, "reason": reason})


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRules:
    """The settings of the evaluation: docs/alerts.md has the same table."""

    marker_messages: int = _setting(
        2, "messages", "transaction markers at the end of a log, which nobody commits"
    )
    minimum_messages: int = _setting(10, "messages", "fewer are no trend")
    slight_seconds: float = _setting(30, "s", "a shorter delay or absence concerns nobody")
    stall_seconds: float = _setting(45, "s", "a broker waits as long for a lost consumer")
    trend_seconds: float = _setting(60, "s", "shorter, a direction cannot be told from noise")
    confirm_seconds: float = _setting(
        120, "s", "a rebalance, and the return of members, are over before"
    )
    window_seconds: float = _setting(
        600, "s", "samples looked at one by one; older ones teach what is usual"
    )
    objective_seconds: float = _setting(
        OBJECTIVE_SECONDS, "s", "time lag not to be exceeded; the group's own, where it has one"
    )
    lasting_seconds: float = _setting(900, "s", "a dependency that is slow recovers before")
    campaign_seconds: float = _setting(1500, "s", "a rush of messages is over before")
    unknown_period_seconds: float = _setting(
        1800, "s", "a group of which no commit was seen may commit that seldom"
    )
    peak_seconds: float = _setting(2700, "s", "the late part of a daily peak is over before")
    first_job_seconds: float = _setting(
        6 * 3600, "s", "no members at first sight: a job between two runs"
    )
    job_seconds: float = _setting(26 * 3600, "s", "a daily job, two hours late")
    missed_polls: float = _setting(3, "polls", "one or two missing polls say nothing")
    usual_periods: float = _setting(
        3, "periods", "commits, or runs of a job, that are later are not coming"
    )
    habit_times: int = _setting(3, "times", "what happened as often is usual")
    slower_share: float = _setting(0.03, "share", "a group that reads so much less is slower")
    change_share: float = _setting(CHANGE_SHARE, "share", "a smaller change is none")
    much_share: float = _setting(0.2, "share", "a larger change is none of noise")

    # What follows from them. Nothing else is compared with; a test sees to that.

    @property
    def half_window_seconds(self) -> float:
        """What is looked at as recent; what lasts as long is no passing thing."""
        return self.window_seconds / 2

    @property
    def fitted_points(self) -> int:
        """Most points of a straight line: two in the shortest delay that matters are enough."""
        return round(self.window_seconds / (self.slight_seconds / 2))

    @property
    def large_share(self) -> float:
        """A change that noise on both sides of a comparison does not make."""
        return self.much_share + self.much_share

    @property
    def parts(self) -> int:
        """Of a rise or a history: as many as noise lets one tell apart."""
        return round(1 / self.much_share)

    @property
    def harmless_polls(self) -> float:
        """So many missing polls say nothing."""
        return self.missed_polls - 1

    @property
    def late_periods(self) -> float:
        """A commit so many periods old is late, and may yet come."""
        return self.usual_periods - 1


DEFAULT_STATUS_RULES = StatusRules()


STEADY_RATIO = 0.02
"""A backlog that grows by no larger a share of what arrives stays as it is."""


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
        lost_messages: Messages deleted before the group committed them: since its last commit,
            or the most at once in the window. It falls as the window moves on.
        last_lost_at: When a poll last saw some of them deleted, in Unix seconds; None: none did.
        commit_period_seconds: Longest pause that ended in a commit while messages waited.
    """

    lag: int | None = None
    behind_seconds: float | None = None
    arrival_per_second: float | None = None
    consumption_per_second: float | None = None
    growth_per_second: float | None = None
    drain_seconds: float | None = None
    lost_messages: int | None = None
    last_lost_at: float | None = None
    without_commit_seconds: float | None = None
    commit_period_seconds: float | None = None
    members: int | None = None
    span_seconds: float = 0.0
    samples: int = 0

    @property
    def grows(self) -> bool | None:
        """Whether the backlog grows, by more than it sways; None: that is not known."""
        if self.growth_per_second is None or self.arrival_per_second is None:
            return None
        return self.growth_per_second > STEADY_RATIO * self.arrival_per_second


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

    @property
    def name(self) -> str:
        """The partition with its topic: ``orders-3``."""
        return f"{self.topic}-{self.partition}"


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
        over_objective_seconds: Of such a group: how much older than its objective the oldest
            unread message is; 0 within the objective.
        over_objective_since: Since when it is older than that, in Unix seconds; None: it is not,
            or nobody knows.
        over_objective_before_window: Whether it may have been so before that.
        objective_seconds: The time lag that it is not to exceed; None where it was not looked at.
    """

    status: Status
    reason: str
    since: float | None = None
    began_before_window: bool = False
    numbers: LagNumbers
    unknown_partitions: int = 0
    partitions: Sequence[PartitionStatus] = ()
    is_lasting: bool = False
    over_objective_seconds: float = 0.0
    over_objective_since: float | None = None
    over_objective_before_window: bool = False
    objective_seconds: float | None = None

    def count(self, status: Status) -> int:
        """Return how many partitions have ``status``."""
        return sum(1 for partition in self.partitions if partition.status is status)
