"""A dashboard to look at with a browser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from alerting.rules.lifecycle import State
from config.load import load
from runtime.processes import free_ports
from tests.app import generated
from tests.app.conftest import alarm, store_of
from tests.app.connect import add_connect
from tests.app.queues import add_rabbit
from tests.app.world import CLUSTER
from tests.browser.watched import answers
from tests.support import eventually

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a dashboard on a generated lake whose newest poll lies a little ahead."""
    folder = tmp_path_factory.mktemp("dashboard")
    config = generated.settings_yaml(folder, refresh_seconds=4)
    now = datetime.now(UTC)
    ahead = now + timedelta(minutes=10)
    generated.fill(load(config), now=ahead)
    # What is pending at first fires at the second evaluation.
    evaluations = ahead - timedelta(minutes=5), ahead
    generated.evaluate(load(config), *evaluations)
    # Of queues the newest poll is shown, which none of the future is.
    whole = add_rabbit(add_connect(folder, folder / "connect", ahead), folder / "rabbit", now)
    for at in evaluations:
        alarm(whole, at)
    add_past(whole)
    with served(whole / "headroom.yaml") as base:
        yield base


def add_past(folder: Path) -> None:
    """Let what fires on the cluster have fired an hour earlier, too, and been over."""
    store = store_of(folder)
    fires = {
        name: one
        for name, one in store.alerts().items()
        if one.labels.get("cluster") == CLUSTER and one.state is State.FIRING
    }
    over = {
        name: replace(
            one,
            state=State.RESOLVED,
            started_at=one.started_at - 3600,
            resolved_at=one.started_at - 1800,
            since=None,
        )
        for name, one in fires.items()
    }
    for alerts in (over, fires):
        store.save(CLUSTER, alerts, {}, [], now=0.0)
    store.close()


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
