from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from runtime import heartbeat
from tests.support import eventually


def test_a_file_that_could_not_be_touched_is_touched_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "absent" / "heartbeat"

    def mend(_: float) -> None:
        file.parent.mkdir(exist_ok=True)
        time.sleep(0.05)

    monkeypatch.setenv(heartbeat.VARIABLE, str(file))
    monkeypatch.setattr(heartbeat, "time", SimpleNamespace(sleep=mend, time=time.time))
    heartbeat.start()
    eventually(file.exists, timeout_seconds=30, what="touch")
    assert heartbeat.problem(str(file), "http://127.0.0.1:1/") is None
