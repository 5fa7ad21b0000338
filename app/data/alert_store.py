"""The alert store, for the pages: they read it, and write silences and acknowledgements to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from alerting.notify.problems import SHOWN_SECONDS, all_problems, silence_problems
from alerting.notify.store import AlertStore
from alerting.rules.rule_file import RuleSet, usable_rules
from alerting.service import SERVICE
from app.data.context import View
from app.data.viewer import Viewer


def open_store(view: View, *, create: bool = False) -> AlertStore | None:
    """Return the store that all sessions share; None where no service has made one."""
    path = Path(view.settings.alerting.state)
    if not create and not path.exists():
        return None
    stamp = path.stat().st_ino if path.exists() else 0
    return _open(str(path), stamp)


def writable(view: View) -> AlertStore:
    """Return the store to write to; it is made where there is none."""
    store = open_store(view, create=True)
    assert store is not None  # noqa: S101 (it is made)
    return store


def sees_labels(viewer: Viewer, labels: Mapping[str, str], *, operating: bool = False) -> bool:
    """Tell whether somebody sees what labels name; what names no group or topic is for all-seers.

    Args:
        viewer: Who.
        labels: Those of an alert, or of a silence that names them exactly.
        operating: Ask the operators' roles only.
    """
    roles = viewer.roles
    if roles is None:
        return True
    asked = tuple(role for role in roles if role.operator) if operating else roles
    narrowed = Viewer(roles=asked)
    if narrowed.sees_all:
        return True
    cluster, group, topic = (labels.get(key) for key in ("cluster", "group", "topic"))
    if cluster is None:
        return False
    if narrowed.sees_all_of(cluster):
        return True
    named = group is not None or topic is not None
    return named and narrowed.sees(cluster, group=group, topic=topic)


@st.cache_resource(max_entries=8, show_spinner=False)
def _open(path: str, stamp: int) -> AlertStore:
    """Open the store; a file that was deleted and made anew (another inode) is another store."""
    del stamp
    return AlertStore(Path(path))


def rules(view: View) -> RuleSet:
    """Return what can be used of the file of rules: its problems tell the rest."""
    return usable_rules(view.settings.alerting.rules)


def problems(view: View, store: AlertStore | None, found: RuleSet) -> list[str]:
    """Return which rules, silences and rows of the store are left out, a line each."""
    now = view.now.timestamp()
    service = store.noted(SERVICE) if store else None
    others = [] if store is None else silence_problems(store.silences(now), now)
    others += [] if store is None else store.unreadable(now - SHOWN_SECONDS)
    return all_problems(service, view.settings.alerting.rules, found.problems, others)
