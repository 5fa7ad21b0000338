"""An alert store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from alerting.notify.store import AlertStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AlertStore]:
    made = AlertStore(tmp_path / "alerts.sqlite")
    yield made
    made.close()
