"""One demo for all tests of this folder; the last test of it ends it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from runtime.java import Java
from tests.demo.running import Demo, start


@pytest.fixture(scope="session")
def demo(kafka_java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A running demo: brokers, workload, collectors, history, alerts, dashboard."""
    started = start(tmp_path_factory.mktemp("demo") / "data")
    try:
        started.wait_for("first lag in the lake")
        yield started
    finally:
        if started.process.poll() is None:
            os.killpg(started.process.pid, signal.SIGKILL)
        started.process.wait()
