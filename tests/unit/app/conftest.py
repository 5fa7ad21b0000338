"""The frame of a page on an empty lake."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.data.context import View
from tests.unit.app.views_of import view_of


@pytest.fixture
def view(tmp_path: Path) -> View:
    return view_of(tmp_path)
