"""``python -m runtime``: what it says when it cannot go on, and with which exit status."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GOOD = "clusters:\n  - name: one\n    bootstrap_servers: 127.0.0.1:9\n"


def runtime(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "runtime", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "cannot be read", id="no file"),
        pytest.param("clusters: []\n", "clusters", id="no cluster"),
        pytest.param(GOOD + "colour: red\n", "colour: unknown key", id="unknown key"),
    ],
)
def test_a_bad_configuration_ends_with_2_before_anything_starts(
    tmp_path: Path, content: str | None, message: str
) -> None:
    config = tmp_path / "headroom.yaml"
    if content is not None:
        config.write_text(content)
    answer = runtime("run", "--config", str(config))
    assert answer.returncode == 2
    assert message in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] in ([], ["headroom.yaml"])


def test_a_taken_port_ends_with_1(tmp_path: Path) -> None:
    config = tmp_path / "headroom.yaml"
    config.write_text(GOOD)
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        answer = runtime("run", "--config", str(config), "--port", str(port))
    assert answer.returncode == 1
    assert answer.stderr.strip() == (
        f"port {port} is taken: end what uses it, or choose another with --port or app.port"
    )


def test_an_unusable_java_home_ends_with_1(tmp_path: Path) -> None:
    answer = runtime("setup", JAVA_HOME=str(tmp_path))
    assert answer.returncode == 1
    assert answer.stderr.startswith(f"JAVA_HOME is {tmp_path}")
    assert len(answer.stderr.strip().splitlines()) == 1


def test_settings_for_ivy_must_exist(tmp_path: Path) -> None:
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    java.chmod(0o755)
    answer = runtime(
        "setup",
        JAVA_HOME=str(tmp_path / "java"),
        HEADROOM_CACHE=str(tmp_path / "cache"),
        HEADROOM_IVY_SETTINGS=str(tmp_path / "missing.xml"),
    )
    assert answer.returncode == 1
    assert "HEADROOM_IVY_SETTINGS names" in answer.stderr


@pytest.mark.parametrize("command", [pytest.param((), id="all"), pytest.param(("run",), id="run")])
def test_help_is_there(command: tuple[str, ...]) -> None:
    answer = runtime(*command, "--help")
    assert answer.returncode == 0
    assert "run" in answer.stdout
