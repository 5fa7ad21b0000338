"""Frames of pages, without Streamlit."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from app.data.context import View
from app.data.time_range import LAST_DAY
from app.data.viewer import Viewer
from app.data.visible_lake import VisibleLake
from app.style.theme import LIGHT
from config.load import load

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def view_of(folder: Path) -> View:
    """Return the frame of a page on the cluster ``east`` of a lake in a folder."""
    config = folder / "headroom.yaml"
    config.write_text(
        "clusters:\n  - {name: east, bootstrap_servers: 'localhost:1'}\nlake: {uri: lake}\n"
    )
    settings, viewer = load(config), Viewer()
    return View(
        settings=settings,
        viewer=viewer,
        lake=VisibleLake(settings.lake, viewer),
        cluster="east",
        range=LAST_DAY,
        now=NOW,
        zone=UTC,
        palette=LIGHT,
        is_phone=False,
    )
