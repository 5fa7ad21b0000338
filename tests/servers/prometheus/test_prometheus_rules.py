from __future__ import annotations

import shutil
import subprocess

from tests.support import unavailable


def test_the_example_rules_are_good_for_prometheus() -> None:
    tool = shutil.which("promtool") or unavailable("promtool is not installed")
    done = subprocess.run(
        [tool, "check", "rules", "deploy/prometheus/headroom-rules.yaml"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
