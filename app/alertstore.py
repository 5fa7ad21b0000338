"""The alert store, for the pages: they read it, and write silences and acknowledgements to it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from alerting.rulefile import RuleSet, load_rules
from alerting.store import AlertStore
from app.view import View


def open_store(view: View, *, create: bool = False) -> AlertStore | None:
    """Return the store that all sessions share; None where no service has made one.

    Args:
        view: The frame of the page.
        create: Whether to make one.

    Raises:
        StoreError: It cannot be opened.
    """
    path = Path(view.settings.alerting.state)
    if not create and not path.exists():
        return None
    stamp = path.stat().st_ino if path.exists() else 0
    return _open(str(path), stamp)


@st.cache_resource(max_entries=8, show_spinner=False)
def _open(path: str, stamp: int) -> AlertStore:
    """Open the store; a file that was deleted and made anew (another inode) is another store."""
    del stamp
    return AlertStore(Path(path))


def rules(view: View) -> RuleSet:
    """Return the rules that the service evaluates.

    Raises:
        ConfigError: Their file cannot be used.
    """
    return load_rules(view.settings.alerting.rules)
