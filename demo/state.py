"""What a running demo leaves in its data folder for other commands: who runs, and requests.

``python -m demo fault`` writes a request; the running demo acts on it and writes the answer beside
it. Only the process that started the brokers can start them again as its own.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from demo.errors import DemoError, NotRunningError
from runtime.cache import write_atomically

_MARK = "headroom-demo"
_OURS = ("kafka", "connect", "rabbitmq", "lake", "logs", "control", "demo.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Something that the running demo is asked to do."""

    action: str
    broker: int | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a request."""

    done: bool
    message: str
    details: dict[str, Any] | None = None


class DataFolder:
    """The folder of a demo: its data, its lock, its control channel."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.kafka = self.path / "kafka"
        self.connect = self.path / "connect"
        self.rabbitmq = self.path / "rabbitmq"
        self.lake = self.path / "lake"
        self.logs = self.path / "logs"
        self.control = self.path / "control"
        self.config = self.path / "demo.yaml"
        self._lock: IO[str] | None = None

    def take(self) -> None:
        """Make the folder this process's own until :meth:`release`."""
        if self.path.exists() and not self.path.is_dir():
            raise DemoError(f"{self.path} is not a folder: choose another with --data")
        mark = self.path / _MARK
        try:
            if self.path.is_dir() and any(self.path.iterdir()) and not mark.exists():
                raise DemoError(
                    f"{self.path} holds something that is not a demo's: choose an empty or new "
                    "folder with --data"
                )
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = mark.open("a+", encoding="utf-8")
        except OSError as error:
            raise DemoError(f"{self.path} cannot be used ({error.strerror}): set --data") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            self._lock = None
            raise DemoError(
                f"a demo runs in {self.path} already: end it, or choose another folder with --data"
            ) from None
        shutil.rmtree(self.control, ignore_errors=True)
        self.control.mkdir()

    def release(self) -> None:
        """Let another demo use the folder."""
        if self._lock is not None:
            shutil.rmtree(self.control, ignore_errors=True)
            self._lock.close()
            self._lock = None

    def running(self) -> bool:
        """Say whether a demo runs in this folder."""
        try:
            with (self.path / _MARK).open("r", encoding="utf-8") as handle:
                fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    @property
    def kept(self) -> bool:
        """Whether an earlier demo ended in order and left its data to go on with."""
        return (self.kafka / "kept").exists()

    def keep(self) -> None:
        """Mark the data as fit to go on with."""
        write_atomically(self.kafka / "kept", "ended in order\n")

    def clear(self) -> None:
        """Delete what earlier demos left: a new cluster begins with an empty lake."""
        for name in _OURS:
            path = self.path / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        self.control.mkdir()

    def ask(self, request: Request, timeout_seconds: float = 90.0) -> Answer:
        """Put a request into the control channel and wait for the answer."""
        name = uuid.uuid4().hex
        if not self.running():
            raise NotRunningError(
                f"no demo runs in {self.path}: start one with make demo, or name its folder "
                "with --data"
            )
        write_atomically(self.control / f"{name}.request", json.dumps(asdict(request)))
        answer = self.control / f"{name}.answer"
        deadline = time.monotonic() + timeout_seconds
        while not answer.exists():
            if not self.running():
                raise NotRunningError(f"the demo in {self.path} ended before it answered")
            if time.monotonic() > deadline:
                raise DemoError(f"the demo did not answer in {timeout_seconds:.0f} s")
            time.sleep(0.1)
        content = json.loads(answer.read_text(encoding="utf-8"))
        answer.unlink()
        return Answer(**content)

    def requests(self) -> list[tuple[str, Request]]:
        """Take the requests out of the control channel, oldest first, each with its name."""
        found = []
        paths = sorted(self.control.glob("*.request"), key=lambda one: one.stat().st_mtime)
        for path in paths:
            content = json.loads(path.read_text(encoding="utf-8"))
            path.unlink()
            found.append((path.stem, Request(**content)))
        return found

    def reply(self, name: str, answer: Answer) -> None:
        """Answer a request by its name."""
        write_atomically(self.control / f"{name}.answer", json.dumps(asdict(answer)))
