"""The alerting service: evaluates rules at each poll, and sends what follows from it."""

from __future__ import annotations

import fcntl
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import polars as pl
from deltalake.exceptions import DeltaError

from alerting.current.state import Present
from alerting.errors import AlertingError, StoreBusyError, StoreError
from alerting.evaluate.evaluation import ClusterEvaluation, ClusterEvaluator, advanced
from alerting.inputs.lake_rows import clusters_of
from alerting.notify.notes import LOOKED_BACK_SECONDS, changes_note, lag_note
from alerting.notify.notifications import Notification, NotificationIntervals, plan
from alerting.notify.problems import SHOWN_SECONDS, limited, silence_problems
from alerting.notify.sender import Sender
from alerting.notify.shared_state import SharedState, is_shared
from alerting.notify.store import AlertStore
from alerting.notify.targets.registry import make_target
from alerting.notify.wording import MOST_SHOWN
from alerting.rules.lifecycle import Alert, active
from alerting.rules.matchers import MaintenanceWindow, Silence
from alerting.rules.rule_file import RuleSet, rules_left, usable_rules
from config.alerting import TargetSettings
from config.errors import ConfigError
from config.settings import Settings
from config.stamp import stamp_of
from lake.errors import LakeError, LeaseLostError
from lake.maintenance.lease import Hold
from lake.schemas.tables import CLUSTER_EVENTS, REBALANCES
from lake.storage.current_store import CurrentStore
from lake.storage.store import Lake
from runtime.clock_steps import ClockSteps

SERVICE = "service"
"""Under this name the store keeps what the service says of itself."""

_FORGET_EVERY_SECONDS = 3600.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOutcome:
    """One evaluation of one cluster."""

    alerts: dict[str, Alert]
    notifications: tuple[Notification, ...]
    has_no_data: bool


def dashboard_url(settings: Settings) -> str:
    """Return how others reach the dashboard."""
    return settings.alerting.dashboard_url or f"http://localhost:{settings.app.port}"


def evaluate_once(
    found: ClusterEvaluation,
    rules: RuleSet,
    store: AlertStore,
    intervals: NotificationIntervals,
    targets: Sequence[TargetSettings],
    notes_of: Callable[[Alert], tuple[str, ...]] = lambda _: (),
) -> EvaluationOutcome:
    """Write the alerts of one evaluation, and the messages that follow from it, into the store.

    Args:
        found: What was found.
        rules: The rules.
        store: The store.
        intervals: How often a group of alerts is notified.
        targets: Whom to notify.
        notes_of: What a message is to say beside an alert that fires, a line each.

    Raises:
        StoreError: The store cannot be read or written; nothing of it was written.
    """
    cluster, now = found.frames.cluster, found.frames.sampled_at
    alerts = advanced(store.alerts(cluster), found, rules.rules)
    silences = store.silences(now)
    acknowledged = store.acknowledgements()
    notifications, notified = plan(
        alerts,
        store.notified(cluster),
        now,
        intervals,
        is_silent=lambda alert: is_quiet(alert, silences, rules.maintenance, now),
        is_acknowledged=lambda alert: alert.id in acknowledged,
    )
    # A message that still waits for its target need not be repeated.
    sent_now = [
        replace(n, notes={one.id: notes_of(one) for one in n.firing[:MOST_SHOWN]})
        for n in notifications
        if n.kind != "repeat" or not store.has_open(n.group)
    ]
    addressed = [(notification, addressees(notification, targets)) for notification in sent_now]
    store.save(cluster, alerts, notified, addressed, now)
    return EvaluationOutcome(
        alerts=alerts, notifications=tuple(sent_now), has_no_data=found.seen.has_no_data
    )


def is_quiet(
    alert: Alert, silences: Sequence[Silence], windows: Sequence[MaintenanceWindow], now: float
) -> bool:
    """Return whether a silence or a maintenance window covers an alert."""
    return any(silence.covers(alert, now) for silence in silences) or any(
        window.covers(alert, now) for window in windows
    )


def addressees(notification: Notification, targets: Sequence[TargetSettings]) -> list[str]:
    """Return the names of the targets of a notification, by its severity."""
    return [target.name for target in targets if notification.severity.value in target.severities]


class AlertingService:
    """Evaluates at a cadence; senders work beside it and never hold it up."""

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] = time.time,
        hold: Hold | None = None,
        ended: threading.Event | None = None,
    ) -> None:
        """Read the rules and open the store; a rule that cannot be used is left out and said.

        Args:
            settings: All settings.
            clock: The time in Unix seconds.
            hold: The right to be the only service, where the state is shared.
            ended: Ends ``run``, as ``stop`` does.

        Raises:
            StoreError: The store cannot be opened, or another service works on it.
            LakeError: The shared state cannot be read.
        """
        own = settings.alerting
        self._hold = hold
        self._shared = SharedState(settings.lake) if is_shared(settings) else None
        self._settings = settings
        self._clock = clock
        self._rules = usable_rules(own.rules)
        self._rule_problems = [f"left out: {line}" for line in self._rules.problems]
        for line in self._rule_problems:
            _log.error("%s", line)
        self._rules_stamp = stamp_of(own.rules)
        self._started_at = clock()
        self._clock_steps = ClockSteps(time.monotonic)
        self._clock_steps.step(self._started_at)
        self._forgot_at = clock()
        self._ended = ended or threading.Event()
        self._intervals = NotificationIntervals(
            group_interval_seconds=own.group_interval_seconds,
            repeat_interval_seconds=own.repeat_interval_seconds,
        )
        self._exit = ExitStack()
        path = Path(own.state)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = self._exit.enter_context(Path(f"{path}.lock").open("a"))
        except OSError as error:
            raise StoreError(f"{path}: cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._exit.close()
            raise StoreBusyError(f"{path}: another alerting service works on this store") from None
        if self._shared is not None:
            self._shared.restore(path)
        self.store = AlertStore(path)
        self._exit.callback(self.store.close)
        self._lake = Lake(settings.lake)
        self._evaluator = ClusterEvaluator(
            self._lake,
            watched_since=self._started_at,
            objective=settings.scaling.objective_seconds,
        )
        self._present = Present(CurrentStore(settings.lake))
        url = dashboard_url(settings)
        self._senders = [
            Sender(target, make_target(target, url), self.store, self._firing_for(target))
            for target in own.targets
        ]

    @property
    def rules(self) -> RuleSet:
        """The rules that are evaluated now."""
        return self._rules

    @property
    def interval_seconds(self) -> float:
        """How often rules are evaluated."""
        settings = self._settings
        if settings.alerting.evaluate_seconds is not None:
            return settings.alerting.evaluate_seconds
        return min(
            *(settings.poll_interval_seconds(cluster) for cluster in settings.clusters),
            *(settings.poll_interval_seconds(source) for source in settings.integrations),
            settings.collectors.poll_interval_seconds,
        )

    def run(self) -> None:
        """Evaluate until ``stop`` is called."""
        for sender in self._senders:
            sender.start()
        _log.info(
            "%d rules, every %g s, %d targets",
            len(self._rules.rules),
            self.interval_seconds,
            len(self._senders),
        )
        next_at = time.monotonic()
        while not self._ended.wait(max(0.0, next_at - time.monotonic())):
            next_at = max(next_at + self.interval_seconds, time.monotonic())
            try:
                self.evaluate()
            except LeaseLostError as error:
                _log.error("%s", error)
                break
        for sender in self._senders:
            sender.stop()
        self.close()

    def stop(self) -> None:
        """End ``run`` soon; signal handlers may call it."""
        self._ended.set()

    def close(self) -> None:
        """Close the store."""
        self._exit.close()

    def evaluate(self) -> None:
        """Evaluate every cluster once; one that fails stops no other."""
        began = time.monotonic()
        self._reload()
        taken = self._take_requests()
        failures: dict[str, str] = {}
        for cluster in clusters_of(self._settings):
            try:
                found = self._evaluator.evaluate(cluster, self._now(), self._rules.rules)
                outcome = evaluate_once(
                    found,
                    self._rules,
                    self.store,
                    self._intervals,
                    self._settings.alerting.targets,
                    self._notes_of(cluster),
                )
                self._present.write(found, outcome.alerts)
            except (AlertingError, LakeError) as error:
                failures[cluster] = str(error)
            except Exception as error:  # a fault of ours in one cluster must not stop the others
                _log.exception("evaluating %s failed", cluster)
                failures[cluster] = f"{type(error).__name__}: {error}"
        for cluster, failure in failures.items():
            _log.error("%s: %s", cluster, failure)
        self._note(time.monotonic() - began, failures)
        self._publish(taken)
        for sender in self._senders:
            sender.wake()

    def _now(self) -> float:
        """Return the time, by which no sample is old only since this machine's clock was set."""
        now = self._clock()
        if self._clock_steps.step(now):
            self._evaluator.watch_anew(now)
        return now

    def _notes_of(self, cluster: str) -> Callable[[Alert], tuple[str, ...]]:
        """Return what says more of a cluster's alerts; the lake is read once, if at all."""

        @cache
        def changed() -> tuple[pl.DataFrame, pl.DataFrame] | None:
            since = datetime.fromtimestamp(self._clock() - 2 * LOOKED_BACK_SECONDS, UTC)
            try:
                return (
                    self._lake.read(REBALANCES, since=since, cluster=cluster),
                    self._lake.read(CLUSTER_EVENTS, since=since, cluster=cluster),
                )
            except LakeError as error:
                _log.warning("%s: what changed before is not known: %s", cluster, error)
                return None

        def notes(alert: Alert) -> tuple[str, ...]:
            group, changes = alert.labels.get("group"), changed()
            lag = None
            if group is not None:
                lag = lag_note(self._evaluator.windows(cluster, group), self._clock())
            before = changes and changes_note(group, alert.began_at, *changes)
            return tuple(filter(None, (lag, before)))

        return notes

    def _take_requests(self) -> list[str]:
        """Apply what others asked for; confirm before that this service is still the one."""
        if self._shared is None:
            return []
        try:
            if self._hold is not None:
                self._hold.confirm()
            return self._shared.take(self.store)
        except LeaseLostError:
            raise
        except (AlertingError, LakeError, DeltaError, OSError) as error:
            _log.error("what was asked for is not known: %s", error)
            return []

    def _publish(self, taken: list[str]) -> None:
        """Let others read the state; a lake that cannot be written holds up no message."""
        if self._shared is None:
            return
        try:
            self._shared.publish(self.store, taken)
        except (AlertingError, LakeError) as error:
            _log.error("the state is not shared: %s", error)

    def _note(self, seconds: float, failures: dict[str, str]) -> None:
        now = self._clock()
        try:
            problems = [
                *self._rule_problems,
                *silence_problems(self.store.silences(now), now),
                *self.store.unreadable(now - SHOWN_SECONDS),
            ]
            self.store.note(
                SERVICE,
                {
                    "evaluated_at": now,
                    "duration_seconds": round(seconds, 4),
                    "interval_seconds": self.interval_seconds,
                    "started_at": self._started_at,
                    "rules": len(self._rules.rules),
                    "failures": failures,
                    "problems": limited(problems),
                },
            )
            if now - self._forgot_at >= _FORGET_EVERY_SECONDS:
                self._forgot_at = now
                self.store.forget(now - self._settings.alerting.keep_days * 86400.0)
        except AlertingError as error:
            _log.error("%s", error)
        except Exception:  # a fault of ours must not end the service
            _log.exception("the service could not write about itself")

    def _reload(self) -> None:
        """Read rules again that were changed; a file that cannot be read changes nothing."""
        path = self._settings.alerting.rules
        stamp = stamp_of(path)
        if stamp == self._rules_stamp:
            return
        self._rules_stamp = stamp
        try:
            self._rules = rules_left(path)
            self._evaluator.ask_anew()
            self._rule_problems = [f"left out: {line}" for line in self._rules.problems]
            _log.info("%d rules read from %s", len(self._rules.rules), path)
        except Exception as error:  # whatever the file says, evaluation goes on
            # A fault of ours is logged with its kind: its text alone may say nothing.
            said = str(error) if isinstance(error, ConfigError) else f"{path}: {error!r}"
            self._rule_problems = [
                f"the rules stay as they were: {line}" for line in said.splitlines()
            ]
        for line in self._rule_problems:
            _log.error("%s", line)

    def _firing_for(self, target: TargetSettings) -> Callable[[], Sequence[Alert]]:
        """Return what fires, was notified to a target, and is to be kept alive there."""

        def firing() -> Sequence[Alert]:
            notified = {
                id_
                for cluster in clusters_of(self._settings)
                for one in self.store.notified(cluster).values()
                for id_ in one.firing
            }
            return [
                alert
                for alert in active(self.store.alerts().values())
                if alert.id in notified and alert.severity.value in target.severities
            ]

        return firing
