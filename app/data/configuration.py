"""The configuration that the dashboard runs with."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from config.load import CONFIG_VARIABLE, load_from_environment
from config.settings import Settings


def settings() -> Settings:
    """Return what the file says that ``HEADROOM_CONFIG`` names: changed files count at once.

    Of secrets in files of their own a change counts after a minute.

    Raises:
        ConfigError: It cannot be read, or is wrong.
    """
    path = os.environ.get(CONFIG_VARIABLE, "")
    try:
        written = Path(path).stat().st_mtime_ns
    except OSError:
        written = 0  # reading it says why
    return _read(path, written)


# A page is drawn every few seconds for each viewer, and to read it is a tenth of that.
@st.cache_resource(ttl=60, max_entries=2, show_spinner=False)
def _read(path: str, written: int) -> Settings:
    return load_from_environment()
