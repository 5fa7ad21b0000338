"""The history job as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 400.0
"""Of a start or a round; a quiet machine needs a tenth of it."""


def command(config: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "spark_metrics", *words, "--config", str(config)]


def start(
    config: Path, *words: str, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(config, *words),
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(
    config: Path, *words: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(config, *words),
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_SECONDS,
        check=False,
    )


def wait_until(
    condition: Callable[[], bool], process: subprocess.Popen[str], seconds: float
) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < deadline, "nothing happened in time"
        time.sleep(0.05)


def kill(process: subprocess.Popen[str], *, alone: bool = False) -> None:
    """Kill a job and its JVM, or itself alone: its JVM then ends by itself, when it notices."""
    (os.kill if alone else os.killpg)(process.pid, signal.SIGKILL)
    process.communicate(timeout=DEADLINE_SECONDS)  # until the last of them has ended
