from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from config.settings import Settings
from lake.store import Lake
from lake.tables import GROUP_PARTITION_HISTORY, JOBS
from tests.spark import bronze
from tests.spark.comparing import assert_recomputed
from tests.spark.pasts import eventful

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def config(tmp_path: Path, settings: Settings) -> Path:
    path = tmp_path / "headroom.yaml"
    path.write_text(
        "clusters: [{name: demo, bootstrap_servers: 'localhost:9092'}]\n"
        f"lake: {{uri: {settings.lake.uri}}}\n"
        "spark: {trigger_seconds: 1, late_after_seconds: 1000000000}\n"
    )
    return path


def command(config: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "spark_metrics", *words, "--config", str(config)]


def start(config: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(config, *words),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until(
    condition: Callable[[], bool], process: subprocess.Popen[str], seconds: float
) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < deadline, "nothing happened in time"
        time.sleep(0.05)


def commits(lake: Lake) -> int:
    """Count what the job has written so far: commits of the last table and rounds."""
    folder = Path(lake.uri(GROUP_PARTITION_HISTORY)).parent
    return len(list(folder.glob("*/_delta_log/*.json")))


def kill(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def test_killed_at_random_points_the_history_is_the_same(config: Path, lake: Lake) -> None:
    """Given a lake that grows, when the job is killed again and again between any two commits,
    then what it leaves in the end is what plain Python computes."""
    polls = eventful(seed=11, polls=36)
    dice = random.Random(7)  # noqa: S311 (a seeded test)
    bronze.append(lake, *polls[:9])
    for part in (polls[9:18], polls[18:27], polls[27:]):
        before = commits(lake)
        process = start(config, "run")
        enough = dice.randrange(1, 8)
        wait_until(lambda: commits(lake) >= before + enough, process, 90)  # noqa: B023
        time.sleep(dice.random())
        kill(process)
        bronze.append(lake, *part)
    done = subprocess.run(
        command(config, "once"), cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert_recomputed(lake, polls)


def test_run_waits_for_the_first_samples_and_stops_when_told(config: Path, lake: Lake) -> None:
    process = start(config, "run")
    try:
        wait_until(lambda: lake.exists(JOBS), process, 90)
        assert lake.read(JOBS)["status"].to_list() == ["waiting"]
        polls = bronze.history(bronze.Model(seed=3), polls=4)
        bronze.append(lake, *polls)
        wait_until(lambda: "ok" in lake.read(JOBS)["status"].to_list(), process, 90)
        assert lake.read(GROUP_PARTITION_HISTORY).height > 0
        told = time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
        assert time.monotonic() - told < 10
    finally:
        if process.poll() is None:
            kill(process)


def test_a_second_job_on_the_same_lake_is_refused(config: Path, lake: Lake) -> None:
    process = start(config, "run")
    try:
        lock = Path(lake.checkpoints_uri) / "history.lock"
        wait_until(lock.exists, process, 30)
        second = subprocess.run(
            command(config, "once"),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert second.returncode == 1
        assert "another history job works on" in second.stderr
        assert len(second.stderr.strip().splitlines()) == 1
    finally:
        kill(process)


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        pytest.param(
            ("--from", "soon", "--to", "2026-01-06"), 1, "'soon' is no date", id="no-date"
        ),
        pytest.param(
            ("--from", "2026-01-07", "--to", "2026-01-06"),
            1,
            "--from must be before --to",
            id="order",
        ),
    ],
)
def test_backfill_says_what_is_wrong(
    config: Path, words: tuple[str, ...], code: int, line: str
) -> None:
    done = subprocess.run(
        command(config, "backfill", *words),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code
    assert line in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
