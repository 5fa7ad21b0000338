from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime import bootstrap

SCRIPT = Path(bootstrap.__file__)


def bootstrap_in(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the real script as make does, with an environment folder of its own."""
    return subprocess.run(
        [sys.executable, str(SCRIPT), "--venv", str(folder / "venv")],
        env={**os.environ, "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_network_there_is_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    result = bootstrap_in(
        tmp_path,
        PIP_INDEX_URL="http://127.0.0.1:9/simple",
        PIP_FIND_LINKS="",
        PIP_RETRIES="0",
        PIP_QUIET="3",
    )

    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == (
        "set-up: Python packages could not be installed: check the network or proxy and try again"
    )
    assert not (tmp_path / "venv" / ".installed").exists()


def test_a_finished_set_up_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("", encoding="utf-8")
    calls: list[list[str]] = []
    monkeypatch.setattr(bootstrap, "_run", lambda command, failure: calls.append(command))
    monkeypatch.setattr(
        bootstrap.subprocess,
        "run",
        lambda *a, **k: subprocess.CompletedProcess(a, 0, stdout="", stderr=""),
    )
    (tmp_path / "venv").mkdir()

    bootstrap.install(tmp_path / "venv", [requirements])
    first = len(calls)
    bootstrap.install(tmp_path / "venv", [requirements])
    assert len(calls) == first > 0

    requirements.write_text("six==1.16.0", encoding="utf-8")
    bootstrap.install(tmp_path / "venv", [requirements])
    assert len(calls) > first
    assert "packages ready" in capsys.readouterr().out


def test_uv_uses_the_index_that_pip_is_configured_with(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\n"
        "echo \"global.index-url='https://mirror.example.com/simple'\"\n"
        "echo \"global.cert='/etc/ssl/company.pem'\"\n"
        "echo \"global.timeout='60'\"\n",
        encoding="utf-8",
    )
    python.chmod(0o755)

    environment = bootstrap.uv_environment(python)

    assert environment["UV_DEFAULT_INDEX"] == "https://mirror.example.com/simple"
    if "SSL_CERT_FILE" not in os.environ:
        assert environment["SSL_CERT_FILE"] == "/etc/ssl/company.pem"
