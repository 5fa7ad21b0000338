from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from spark_metrics.code import archive


def test_the_modules_of_the_archive_can_be_imported_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "code.zip"
    path.write_bytes(archive())
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            "import lake.storage.store, spark_metrics.history_tables as s; print(s.__file__)",
        ],
        cwd=tmp_path,
        env={"PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(str(path))


def test_the_same_modules_are_the_same_archive() -> None:
    assert archive() == archive()
