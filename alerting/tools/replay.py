"""Running rules over the lake's history: what would have fired, when, and for how long."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from alerting.checks.model import CheckInput
from alerting.evaluate.observations import evaluate_cluster, observe
from alerting.evaluate.status_history import GroupMemory
from alerting.inputs.frames import Frames
from alerting.inputs.lake_rows import at, read_range
from alerting.notify.notifications import NotificationIntervals, Notified, plan
from alerting.rules.inhibition import advance_with_causes
from alerting.rules.lifecycle import Alert
from alerting.rules.matchers import MaintenanceWindow
from alerting.rules.model import Evaluation, Rule
from alerting.status.model import OBJECTIVE_SECONDS
from lake.storage.store import Lake

_BATCH_SECONDS = 3600.0
"""So much history is held in memory at once, beside what the first evaluation looks back to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """What rules would have done.

    Attributes:
        alerts: Alerts that would have fired, in order of time; those that would still fire at the
            end have no ``resolved_at``.
        messages: Messages that would have been sent to one target of all severities.
    """

    alerts: tuple[Alert, ...]
    messages: int
    evaluations: int


class Recorder:
    """Takes alerts through evaluations one by one and keeps all that fired: no input or output."""

    def __init__(
        self, intervals: NotificationIntervals, windows: Sequence[MaintenanceWindow] = ()
    ) -> None:
        self._intervals = intervals
        self._windows = windows
        self._alerts: dict[str, Alert] = {}
        self._notified: dict[str, Notified] = {}
        self._fired: dict[str, Alert] = {}
        self.messages = 0
        self.evaluations = 0

    def take(self, evaluation: Evaluation, now: float) -> None:
        """Take every alert one evaluation further."""
        self.evaluations += 1
        self._alerts = advance_with_causes(self._alerts, evaluation, now)
        notifications, self._notified = plan(
            self._alerts,
            self._notified,
            now,
            self._intervals,
            is_silent=lambda alert: any(one.covers(alert, now) for one in self._windows),
        )
        self.messages += len(notifications)
        for alert in self._alerts.values():
            if alert.fired_at is not None:
                self._fired[alert.id] = alert

    @property
    def current(self) -> Sequence[Alert]:
        """The alerts as they are now."""
        return tuple(self._alerts.values())

    @property
    def fired(self) -> tuple[Alert, ...]:
        """All alerts that fired, in order of time."""
        return tuple(sorted(self._fired.values(), key=lambda a: (a.fired_at or 0.0, a.rule)))


def replay(
    lake: Lake,
    cluster: str,
    rules: Sequence[Rule],
    first: float,
    last: float,
    *,
    interval_seconds: float,
    intervals: NotificationIntervals | None = None,
    windows: Sequence[MaintenanceWindow] = (),
    objective: Callable[[str], float] = lambda _: OBJECTIVE_SECONDS,
    progress: Callable[[float], None] = lambda _: None,
) -> Replayed:
    """Evaluate rules at each poll of one cluster between two moments.

    Returns:
        What would have fired. A table that cannot be read makes its checks unknown.
    """
    recorder = Recorder(intervals or NotificationIntervals(), windows)
    memory = GroupMemory(lake, objective)
    start = first
    while start <= last:
        end = min(start + _BATCH_SECONDS, last)
        rows = read_range(lake, cluster, start, end, first)
        for now in moments(rows, start, end, interval_seconds, is_last=end == last):
            seen = observe(CheckInput(frames=at(rows, now), classify=memory.statuses))
            recorder.take(evaluate_cluster(rules, seen, cluster), now)
            progress((now - first) / max(1.0, last - first))
        if end == last:
            break
        start = end
    return Replayed(
        alerts=recorder.fired, messages=recorder.messages, evaluations=recorder.evaluations
    )


def moments(
    frames: Frames, first: float, last: float, interval_seconds: float, *, is_last: bool = True
) -> Iterator[float]:
    """Return when to evaluate: at each poll, and at the cadence where there was none."""
    polls: list[float] = []
    collections = frames.tables.get("collections")
    if collections is not None:
        polls = sorted(
            moment.timestamp()
            for moment in collections["observed_at"].unique().to_list()
            if isinstance(moment, datetime)
        )
    done = first - interval_seconds
    for poll in [*(poll for poll in polls if first <= poll <= last), last]:
        while poll - done > 2 * interval_seconds:
            done += interval_seconds
            if done >= first:
                yield done
        # Sources are polled at moments of their own: those of one round are one evaluation.
        if poll - done >= 0.5 * interval_seconds and (poll < last or is_last):
            done = poll
            yield poll
