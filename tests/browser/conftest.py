"""A dashboard to look at with a browser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from config.load import load
from runtime.processes import free_ports
from tests.app import generated
from tests.browser.watched import answers
from tests.support import eventually

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a dashboard on a generated lake whose newest poll lies a little ahead."""
    folder = tmp_path_factory.mktemp("dashboard")
    config = generated.settings_yaml(folder, refresh_seconds=4)
    ahead = datetime.now(UTC) + timedelta(minutes=10)
    generated.fill(load(config), now=ahead)
    generated.evaluate(load(config), ahead)
    with served(config) as base:
        yield base


@contextmanager
def served(config: Path) -> Iterator[str]:
    """Run a dashboard on a configuration, and yield its address."""
    (port,) = free_ports(1)
    log = config.parent / "dashboard.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "app", "--config", str(config)),
                *("--port", str(port)),
            ],
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            base = f"http://localhost:{port}"
            eventually(
                lambda: answers(f"{base}/_stcore/health"), timeout_seconds=120, what="dashboard"
            )
            yield base
        finally:
            process.terminate()
            process.wait(timeout=20)
    said = log.read_text()
    assert "Traceback" not in said, said
    assert "deprecat" not in said.lower(), said
