"""A demo as a user runs it, and its commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.processes import free_ports
from tests.support import eventually

ROOT = Path(__file__).parents[2]
START_SECONDS = 300.0
"""The longest that a start may take on a machine that still downloads jars."""


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the demo."""
    return subprocess.run(
        [sys.executable, "-m", "demo", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def processes_of(folder: Path) -> list[str]:
    """Command lines that name the folder, which all of a demo's processes do."""
    listed = subprocess.run(
        ["ps", "-axww", "-o", "pid=,stat=,args="], capture_output=True, text=True, check=True
    )
    return [
        line
        for line in listed.stdout.splitlines()
        if str(folder) in line and line.split()[1][0] != "Z"
    ]


@dataclass
class Demo:
    """A demo that runs.

    Attributes:
        process: ``make demo``.
        folder: Its folder.
        base: The address of its dashboard.
        output: What it printed.
    """

    process: subprocess.Popen[str]
    folder: Path
    base: str
    output: Path

    def child(self) -> int:
        """Return the process that ``make`` started."""
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)],
            capture_output=True,
            text=True,
            check=True,
        )
        return int(listed.stdout)

    def status(self) -> dict[str, Any]:
        """Return what ``status --json`` says."""
        answer = command("status", "--json", "--data", str(self.folder))
        assert answer.returncode == 0, answer.stderr
        found: dict[str, Any] = json.loads(answer.stdout)
        return found

    def fault(self, *arguments: str) -> str:
        """Break or mend something, and return what was said."""
        answer = command("fault", *arguments, "--data", str(self.folder))
        assert answer.returncode == 0, answer.stderr
        return answer.stdout.strip()

    def wait_for(self, text: str) -> None:
        """Wait until it has printed a text."""

        def there() -> bool:
            said = self.output.read_text()
            assert self.process.poll() is None, said
            return text in said

        eventually(
            there,
            timeout_seconds=START_SECONDS,
            what=lambda: f"{text!r} in {self.output.read_text()}",
        )


def start(folder: Path, options: str = "") -> Demo:
    """Start ``make demo`` in a session of its own."""
    (port,) = free_ports(1)
    output = folder.with_suffix(".out")
    # As from a shell: a make that knows it runs in another one says more.
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    with output.open("w") as handle:
        process = subprocess.Popen(
            ["make", "demo", f"PORT={port}", f"DATA={folder}", f"ARGS={options}"],
            cwd=ROOT,
            env=environment,
            stdout=handle,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
    return Demo(process, folder, f"http://localhost:{port}", output)
