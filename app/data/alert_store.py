"""The alert store as the viewer of a page sees it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import streamlit as st

from alerting.errors import AlertingError
from alerting.notify.outbox import TargetHealth
from alerting.notify.problems import SHOWN_SECONDS, all_problems, silence_problems
from alerting.notify.shared_state import is_shared, read_state
from alerting.notify.store import MOST_ALERTS, AlertStore
from alerting.rules.lifecycle import LAST_MOMENT, Alert
from alerting.rules.matchers import Acknowledgement, MaintenanceWindow, Silence, TakenBack
from alerting.rules.rule_file import RuleSet, usable_rules
from alerting.service import SERVICE, is_quiet
from app.data.context import View
from app.data.viewer import Viewer
from config.settings import Settings

_LOOK_AGAIN_SECONDS = 2.0


class VisibleAlerts:
    """Alerts, silences and deliveries, as far as the viewer's roles show them, for one page.

    Attributes:
        is_cut: Whether a time was asked for that has more alerts than are read at once.
    """

    def __init__(self, view: View, store: AlertStore) -> None:
        self._view = view
        self._viewer = view.viewer
        self._store = store
        self.is_cut = False

    def alerts(self) -> dict[str, Alert]:
        """Return the alerts that live, and those resolved not long ago, by fingerprint."""
        return {one.fingerprint: one for one in self._shown(self._live)}

    def alert(self, id_: str) -> Alert | None:
        """Return an alert by its identity; None where there is none that the viewer may see."""
        found = self._store.alert(id_)
        return next(iter(self._shown([] if found is None else [found])), None)

    def history(
        self, since: float, cluster: str | None = None, until: float = LAST_MOMENT
    ) -> list[Alert]:
        """Return the alerts that fired between two moments, the newest first."""
        return self._shown(self._newest(since, cluster, until=until))

    def around(
        self, since: float, until: float, clusters: Sequence[str] | None = None
    ) -> list[Alert]:
        """Return the alerts between two moments, with symptoms that did not fire.

        Args:
            since: The first moment, in Unix seconds.
            until: The last one.
            clusters: Of these alone; an alert that names no cluster is of the first. None: of all.
        """
        ended = (
            self._newest(since, name, until=until, is_over=True, never_fired=never)
            for name in (clusters or (None,))
            for never in (False, True)
        )
        live = (
            one
            for one in self._live
            if (clusters is None or one.labels.get("cluster", clusters[0]) in clusters)
            and one.started_at <= until
            and (one.resolved_at is None or one.resolved_at >= since)
        )
        found = {one.id: one for one in chain(chain.from_iterable(ended), live)}
        return self._shown(found.values())

    @cached_property
    def _live(self) -> list[Alert]:
        return list(self._store.alerts().values())

    def _newest(self, since: float, cluster: str | None, **asked: Any) -> list[Alert]:
        found = self._store.history(since, cluster, limit=MOST_ALERTS + 1, **asked)
        self.is_cut = self.is_cut or len(found) > MOST_ALERTS
        return found[:MOST_ALERTS]

    def silences(self, now: float) -> list[Silence]:
        """Return the silences that have not ended at a moment."""
        return [one for one in self._store.silences(now) if shows_silence(self._viewer, one)]

    def is_quiet(self, alert: Alert, windows: Sequence[MaintenanceWindow], now: float) -> bool:
        """Return whether any silence, shown or not, or a maintenance window covers an alert."""
        return is_quiet(alert, self._store.silences(now), windows, now)

    def acknowledgements(self) -> dict[str, Acknowledgement]:
        """Return who looks after which alert, by its id."""
        found = self._store.acknowledgements()
        if self._viewer.sees_all:
            return found
        ids = {alert.id for alert in self.alerts().values()}
        return {id_: one for id_, one in found.items() if id_ in ids}

    def taken_back(self, alerts: Iterable[Alert]) -> list[TakenBack]:
        """Return which acknowledgements of alerts were taken back, the oldest first.

        Args:
            alerts: Those that the viewer is shown.
        """
        ids = {one.id for one in alerts}
        return [one for one in self._store.taken_back() if one.acknowledgement.alert in ids]

    def service(self) -> dict[str, object] | None:
        """Return what the service says of itself."""
        said = self._store.noted(SERVICE)
        if said is None or self._viewer.sees_all:
            return said
        failures = said.get("failures")
        failed = failures if isinstance(failures, dict) else {}
        # Which clusters failed; the reason may name what is hidden.
        shown = {name: "" for name in failed if self._viewer.sees(name)}
        return {**said, "failures": shown, "problems": []}

    def health(self) -> list[TargetHealth]:
        """Return how delivery goes, which is about the alerts of all."""
        return self._store.health() if self._viewer.sees_all else []

    def problems(self, now: float) -> list[str]:
        """Return which silences and rows are left out, a line each."""
        if not self._viewer.sees_all:
            return []
        found = silence_problems(self._store.silences(now), now)
        return found + self._store.unreadable(now - SHOWN_SECONDS)

    def _shown(self, alerts: Iterable[Alert]) -> list[Alert]:
        if self._viewer.sees_all:
            return list(alerts)
        return [self._readable(one) for one in alerts if sees_labels(self._viewer, one.labels)]

    def _readable(self, alert: Alert) -> Alert:
        """Return an alert whose texts name nothing that is hidden."""
        cluster = alert.labels.get("cluster", "")
        if self._viewer.sees_all_of(cluster):
            return alert
        without = self._view.lake.current.hidden_names(cluster).without
        told, worst = alert.before_mending, alert.worst
        return replace(
            alert,
            what=without(alert.what),
            detail=without(alert.detail),
            cause=without(alert.cause),
            step=without(alert.step),
            page=without(alert.page),
            before_mending=told
            and replace(
                told,
                what=without(told.what),
                detail=without(told.detail),
                step=without(told.step),
                cause=without(told.cause),
            ),
            worst=worst and replace(worst, detail=without(worst.detail)),
        )


def open_store(view: View) -> VisibleAlerts | None:
    """Return what the viewer sees of the store; None where no service has made one."""
    store = whole_store(view)
    return None if store is None else VisibleAlerts(view, store)


def acknowledged(view: View) -> dict[str, Acknowledgement]:
    """Return who looks after which alert, by its id: of one read, whatever of a page asks.

    Nothing where no service has run.

    Raises:
        AlertingError: The store cannot be read.
    """

    def read() -> dict[str, Acknowledgement]:
        store = open_store(view)
        return {} if store is None else store.acknowledgements()

    return view.once("acknowledged", read)


def looked_after(view: View) -> frozenset[str]:
    """Return the ids of the alerts that somebody looks after, for the order and number of causes.

    Where the store cannot be read, nobody is known to: then all count as what needs somebody.
    """
    try:
        return frozenset(acknowledged(view))
    except AlertingError:
        return frozenset()


def whole_store(view: View) -> AlertStore | None:
    """Return the store that all sessions share, for what is shown to nobody as it is."""
    settings = view.settings
    path = Path(settings.alerting.state)
    if is_shared(settings):
        return _open_shared(settings.lake.uri, time.monotonic() // _LOOK_AGAIN_SECONDS, settings)
    return _open(str(path), path.stat().st_ino) if path.exists() else None


def forget() -> None:
    """Read the store anew where it is next asked for: it was changed from here."""
    _open_shared.clear()


@st.cache_resource(max_entries=2, show_spinner=False)
def _open_shared(uri: str, step: float, _settings: Settings) -> AlertStore | None:
    return read_state(_settings)


@st.cache_resource(max_entries=8, show_spinner=False)
def _open(path: str, stamp: int) -> AlertStore:
    """Open the store; a file that was deleted and made anew (another inode) is another store."""
    del stamp
    return AlertStore(Path(path))


def sees_labels(viewer: Viewer, labels: Mapping[str, str], *, operating: bool = False) -> bool:
    """Return whether somebody sees what labels name.

    Labels without a group or a topic are about a whole cluster, those without a cluster about all.

    Args:
        viewer: Who.
        labels: Those of an alert, or those that a silence names exactly.
        operating: Ask the operators' roles only.
    """
    if viewer.roles is None:
        return True
    roles = tuple(role for role in viewer.roles if role.operator or not operating)
    asked = Viewer(roles=roles)
    cluster, group, topic = (labels.get(key) for key in ("cluster", "group", "topic"))
    if asked.sees_all:
        return True
    if cluster is None:
        return False
    if asked.sees_all_of(cluster):
        return True
    return (group or topic) is not None and asked.sees(cluster, group=group, topic=topic)


def shows_silence(viewer: Viewer, one: Silence) -> bool:
    """Return whether a silence names only what somebody sees."""
    if viewer.sees_all:
        return True
    if any(matcher.operator != "=" for matcher in one.matchers):
        return False
    return sees_labels(viewer, {each.label: each.value for each in one.matchers})


def rules(view: View) -> RuleSet:
    """Return what can be used of the file of rules: its problems tell the rest."""
    return usable_rules(view.settings.alerting.rules)


def problems(view: View, store: VisibleAlerts | None, found: RuleSet) -> list[str]:
    """Return which rules, silences and rows of the store are left out, a line each."""
    service = None if store is None else store.service()
    others = [] if store is None else store.problems(view.now.timestamp())
    return all_problems(service, view.settings.alerting.rules, found.problems, others)
