"""A benchmark that is ended early leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from bench.support.process_usage import descendants
from runtime.processes import wait_until
from runtime.services import ROOT


def test_sigterm_ends_what_a_benchmark_started(tmp_path: Path) -> None:
    bench = subprocess.Popen(
        [sys.executable, "-m", "bench", "pages", "--groups", "10"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        stderr=subprocess.DEVNULL,
    )
    try:
        # The process that lets the lake go on writes it.
        wait_until(
            lambda: any(tmp_path.glob("headroom-bench-pages-*/lake/*")),
            timeout_seconds=120.0,
            waiting_for="first table of the lake",
        )
        started = {pid for pid in descendants(bench.pid) if "spawn_main" in _command(pid)}
        assert started
        bench.send_signal(signal.SIGTERM)
        assert bench.wait(timeout=60.0) == 128 + signal.SIGTERM
        assert not any(Path(f"/proc/{pid}").exists() for pid in started)
        assert not any(tmp_path.iterdir())
    finally:
        bench.kill()


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
