"""The alerting service: evaluates rules at each poll, and sends what follows from it."""

from __future__ import annotations

import fcntl
import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from alerting.causes import held_back
from alerting.errors import AlertingError, StoreBusyError, StoreError
from alerting.frames import Frames
from alerting.lifecycle import Alert, active, advance
from alerting.matching import Maintenance, Silence
from alerting.memory import GroupMemory
from alerting.notices import Notice, Pace, plan
from alerting.notify.sender import Sender
from alerting.notify.targets import make_target
from alerting.observe import Judge, evaluate_cluster, group_statuses, observe
from alerting.reading import clusters_of, read_frames
from alerting.rulefile import RuleSet, load_rules
from alerting.store import AlertStore
from config.alerting import TargetSettings
from config.errors import ConfigError
from config.settings import Settings
from lake.store import Lake

SERVICE = "service"
"""Under this name the store keeps what the service says of itself."""

_FORGET_EVERY_SECONDS = 3600.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One evaluation of one cluster.

    Attributes:
        alerts: Its alerts afterwards, by fingerprint.
        notices: What is to be told.
        is_blind: Whether nothing was known of the cluster.
    """

    alerts: dict[str, Alert]
    notices: tuple[Notice, ...]
    is_blind: bool


def dashboard_url(settings: Settings) -> str:
    """Return how others reach the dashboard."""
    return settings.alerting.dashboard_url or f"http://localhost:{settings.app.port}"


def sample_time(frames: Frames) -> float:
    """Return the moment of the newest samples, where they are fresh; else the present.

    It is the same in each instance that reads the same lake.
    """
    collections = frames.tables.get("collections")
    if collections is None:
        return frames.now
    newest = collections["observed_at"].max()
    if isinstance(newest, datetime) and frames.is_fresh(collections):
        return newest.timestamp()
    return frames.now


def evaluate_once(
    frames: Frames,
    rules: RuleSet,
    store: AlertStore,
    pace: Pace,
    targets: Sequence[TargetSettings],
    judge: Judge = group_statuses,
) -> Outcome:
    """Evaluate one cluster, and write its alerts and the messages that follow into the store.

    Args:
        frames: Its rows.
        rules: All rules.
        store: Where alerts are kept.
        pace: How often something is told.
        targets: Who is told.
        judge: Who tells what groups are doing; by default the rows of the frames alone.

    Raises:
        StoreError: The store cannot be read or written; nothing of it was written.
    """
    cluster, now = frames.cluster, sample_time(frames)
    seen = observe(frames, judge=judge)
    evaluation = evaluate_cluster(rules.rules, seen, cluster)
    alerts = advance(store.alerts(cluster), evaluation, held_back(evaluation.findings), now)
    silences = store.silences(now)
    acknowledged = store.acknowledgements()
    notices, told = plan(
        alerts,
        store.told(cluster),
        now,
        pace,
        is_silent=lambda alert: is_quiet(alert, silences, rules.maintenance, now),
        is_acknowledged=lambda alert: alert.id in acknowledged,
    )
    # A message that still waits for its target need not be repeated.
    told_now = [n for n in notices if n.kind != "repeat" or not store.has_open(n.group)]
    addressed = [(notice, addressees(notice, targets)) for notice in told_now]
    store.save(cluster, alerts, told, addressed, now)
    return Outcome(alerts, tuple(told_now), seen.is_blind)


def is_quiet(
    alert: Alert, silences: Sequence[Silence], windows: Sequence[Maintenance], now: float
) -> bool:
    """Tell whether a silence or a maintenance window covers an alert."""
    return any(silence.covers(alert, now) for silence in silences) or any(
        window.covers(alert, now) for window in windows
    )


def addressees(notice: Notice, targets: Sequence[TargetSettings]) -> list[str]:
    """Return the names of those who are told of a notice, by its severity."""
    return [target.name for target in targets if notice.severity.value in target.severities]


class AlertingService:
    """Evaluates at a cadence; senders work beside it and never hold it up."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        """Read the rules and open the store.

        Args:
            settings: All settings.
            clock: Unix seconds.

        Raises:
            ConfigError: The rules cannot be used.
            StoreError: The store cannot be opened, or another service works on it.
        """
        own = settings.alerting
        self._settings = settings
        self._clock = clock
        self._rules = load_rules(own.rules)
        self._rules_stamp = _stamp(own.rules)
        self._started_at = clock()
        self._forgot_at = clock()
        self._ended = threading.Event()
        self._pace = Pace(own.group_interval_seconds, own.repeat_interval_seconds)
        self._exit = ExitStack()
        path = Path(own.state)
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = self._exit.enter_context(Path(f"{path}.lock").open("a"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._exit.close()
            raise StoreBusyError(f"{path}: another alerting service works on this store") from None
        self.store = AlertStore(path)
        self._exit.callback(self.store.close)
        self._lake = Lake(settings.lake)
        self._memory = GroupMemory(self._lake)
        url = dashboard_url(settings)
        self._senders = [
            Sender(target, make_target(target, url), self.store, self._firing_for(target))
            for target in own.targets
        ]

    @property
    def interval_seconds(self) -> float:
        """How often rules are evaluated."""
        settings = self._settings
        if settings.alerting.evaluate_seconds is not None:
            return settings.alerting.evaluate_seconds
        return min(
            *(settings.poll_interval_seconds(cluster) for cluster in settings.clusters),
            *(settings.poll_interval_seconds(source) for source in settings.neighbours),
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
        next_at = self._clock()
        while not self._ended.wait(max(0.0, next_at - self._clock())):
            next_at = max(next_at + self.interval_seconds, self._clock())
            self.evaluate()
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
        failures: dict[str, str] = {}
        for cluster in clusters_of(self._settings):
            try:
                frames = read_frames(
                    self._lake,
                    cluster,
                    self._clock(),
                    self._started_at,
                    self._memory.offsets_since(cluster),
                )
                evaluate_once(
                    frames,
                    self._rules,
                    self.store,
                    self._pace,
                    self._settings.alerting.targets,
                    self._memory.statuses,
                )
            except AlertingError as error:
                failures[cluster] = str(error)
            except Exception as error:  # a fault of ours in one cluster must not stop the others
                _log.exception("evaluating %s failed", cluster)
                failures[cluster] = f"{type(error).__name__}: {error}"
        for cluster, failure in failures.items():
            _log.error("%s: %s", cluster, failure)
        for sender in self._senders:
            sender.wake()
        self._note(time.monotonic() - began, failures)

    def _note(self, seconds: float, failures: dict[str, str]) -> None:
        now = self._clock()
        try:
            self.store.note(
                SERVICE,
                {
                    "evaluated_at": now,
                    "duration_seconds": round(seconds, 4),
                    "interval_seconds": self.interval_seconds,
                    "started_at": self._started_at,
                    "rules": len(self._rules.rules),
                    "failures": failures,
                },
            )
            if now - self._forgot_at >= _FORGET_EVERY_SECONDS:
                self._forgot_at = now
                self.store.forget(now - self._settings.alerting.keep_days * 86400.0)
        except StoreError as error:
            _log.error("%s", error)

    def _reload(self) -> None:
        """Read rules again that were changed; those that cannot be used change nothing."""
        path = self._settings.alerting.rules
        stamp = _stamp(path)
        if stamp == self._rules_stamp:
            return
        self._rules_stamp = stamp
        try:
            self._rules = load_rules(path)
            _log.info("%d rules read from %s", len(self._rules.rules), path)
        except ConfigError as error:
            _log.error("the rules stay as they were: %s", error)

    def _firing_for(self, target: TargetSettings) -> Callable[[], Sequence[Alert]]:
        """Return what fires, was told to a target, and is to be kept alive there."""

        def firing() -> Sequence[Alert]:
            told = {
                id_
                for cluster in clusters_of(self._settings)
                for one in self.store.told(cluster).values()
                for id_ in one.firing
            }
            return [
                alert
                for alert in active(self.store.alerts().values())
                if alert.id in told and alert.severity.value in target.severities
            ]

        return firing


def _stamp(path: Path | None) -> tuple[float, int] | None:
    """Return what changes when a file is written anew; None where there is none."""
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime, found.st_size
