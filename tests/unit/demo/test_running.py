from __future__ import annotations

from pathlib import Path

import pytest

from demo.running import Options, RunningDemo
from demo.state import DataFolder
from runtime.java import Java

JAVA = Java(home=Path("/java"), executable=Path("/java/bin/java"), major=17, source="PATH")


@pytest.mark.parametrize(
    ("dashboard", "address"),
    [
        pytest.param(True, "http://localhost:8600", id="with a dashboard"),
        pytest.param(False, None, id="without"),
    ],
)
def test_the_status_names_the_dashboard(
    tmp_path: Path, dashboard: bool, address: str | None
) -> None:
    options = Options(port=8600, dashboard=dashboard)
    demo = RunningDemo(DataFolder(tmp_path), options, JAVA, print)
    assert demo.status()["dashboard"] == address
