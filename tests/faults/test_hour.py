"""Ten minutes of ``make faults``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.timeout(2400)
def test_ten_minutes_of_faults_lose_double_and_invent_nothing(
    request: pytest.FixtureRequest,
) -> None:
    if not request.config.option.all:
        pytest.skip("a quarter of an hour: make test-all, or make faults")
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.hour", "--minutes", "10"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
