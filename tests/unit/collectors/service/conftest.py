"""A lake for the tests of the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.settings import LakeSettings
from lake.storage.store import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(LakeSettings(uri=str(tmp_path / "lake")))
