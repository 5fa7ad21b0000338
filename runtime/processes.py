"""Child processes that never outlive the process that started them.

Each child leads a process group of its own, so that a signal reaches its descendants and a
terminal's Ctrl-C reaches none of them: ending them, in order, is this module's job. When this
process dies without the chance to do so, a guardian process does it (:mod:`runtime.guardian`).
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from runtime.errors import PortTakenError, ProcessError
from runtime.guardian import end_groups, group_alive, signal_group

# Waits for the word that the guardian knows the group, then becomes the command. If the parent
# dies before that, the pipe ends and nothing starts: no moment is left in which a child could be
# alive and unknown.
_GATE = 'read -r word && [ "$word" = go ] || exit 125; exec "$@" </dev/null'


# Frames of a Java stack trace: they would push the exceptions themselves out of a log's tail.
_FRAME = re.compile(r"\s+(at [\w.$/<>@-]+\(|\.\.\. \d+ more)")


@dataclass(slots=True, kw_only=True)
class Child:
    """A child process and its process group."""

    name: str
    log: Path
    _process: subprocess.Popen[bytes] = field(repr=False)
    _log_start: int = 0

    @property
    def pid(self) -> int:
        """Process id, which is also the id of the process group."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Exit status, negative for a signal's number; None while it runs."""
        return self._process.poll()

    @property
    def alive(self) -> bool:
        """Whether the process still runs (a frozen one does)."""
        return self._process.poll() is None

    def signal(self, number: int) -> None:
        """Send a signal to the whole process group; one that has ended is left alone."""
        if self.alive:
            signal_group(self.pid, number)

    def wait(self, timeout_seconds: float) -> bool:
        """Wait for the end of the process; True when it has ended."""
        try:
            self._process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def tail(self, lines: int = 12) -> str:
        """Return the last lines that it wrote, or a word on why there are none."""
        return tail(self.log, lines, start=self._log_start)

    def exit_report(self) -> str:
        """Say in one message how the process ended and what it said last."""
        code = self.returncode
        if code is None:
            how = "is still running"
        elif code < 0:
            how = f"was ended by {_signal_name(-code)}"
        else:
            how = f"ended with exit status {code}"
        return f"{self.name} {how}; the end of its log ({self.log}):\n{self.tail()}"


class ProcessGroup:
    """Starts child processes and ends them all, even when this process is killed.

    Use as a context manager, or call :meth:`close`. Thread-safe.
    """

    def __init__(self, *, grace_seconds: float = 8.0) -> None:
        self._grace_seconds = grace_seconds
        self._lock = threading.RLock()
        self._children: list[Child] = []
        script = Path(__file__).with_name("guardian.py")
        self._guardian = subprocess.Popen(  # noqa: S603 (a script of this package)
            [sys.executable, "-S", "-E", str(script), str(grace_seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def children(self) -> tuple[Child, ...]:
        """Children that were started and not yet stopped, in the order of their start."""
        with self._lock:
            return tuple(self._children)

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        umask: int = -1,
    ) -> Child:
        """Start a child in a session of its own.

        Args:
            name: What it is called in messages.
            command: The program and its arguments.
            log: The file that its output is appended to.
            environment: Variables beside those of this process.
            folder: Where it works; None: here.
            umask: The rights that its files and its log have not; -1: as here.

        Raises:
            ProcessError: The program could not be started, or its log cannot be written.
        """
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            opened = log.open("ab")
            if umask >= 0:
                log.chmod(log.stat().st_mode & ~umask)
        except OSError as error:
            raise ProcessError(f"{name} could not be started: {log}: {error.strerror}") from None
        with self._lock, opened as output:
            self._tell_guardian("")  # raises while nothing has started yet
            try:
                process = subprocess.Popen(  # noqa: S603 (what the callers in this project name; sh gets it as words)
                    ["/bin/sh", "-c", _GATE, "sh", *command],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=folder,
                    env={**os.environ, **(environment or {})},
                    start_new_session=True,
                    umask=umask,
                )
            except OSError as error:
                raise ProcessError(f"{name} could not be started: {error}") from error
            child = Child(name=name, log=log, _process=process, _log_start=output.tell())
            self._children.append(child)
            self._tell_guardian(f"+ {process.pid}\n")
            gate = process.stdin
            if gate is not None:
                try:
                    gate.write(b"go\n")
                    gate.close()
                except BrokenPipeError:
                    raise ProcessError(child.exit_report()) from None
        return child

    def stop(self, *children: Child, grace_seconds: float | None = None) -> None:
        """End children together: SIGTERM, then SIGKILL for those that do not follow."""
        grace = self._grace_seconds if grace_seconds is None else grace_seconds
        running = {child.pid for child in children if group_alive(child.pid)}
        if grace > 0 and running:
            reaper = threading.Thread(target=_reap, args=(children, grace), daemon=True)
            reaper.start()  # a zombie would look alive to the waiting below
            end_groups(running, grace)
            reaper.join()
        for child in children:
            signal_group(child.pid, signal.SIGKILL)
            child.wait(5)
            with self._lock:
                if child in self._children:
                    self._children.remove(child)
                    self._tell_guardian(f"- {child.pid}\n")

    def close(self, grace_seconds: float | None = None) -> None:
        """End all children, the youngest first, and the guardian."""
        self.stop(*reversed(self.children), grace_seconds=grace_seconds)
        with self._lock:
            if self._guardian.stdin and not self._guardian.stdin.closed:
                self._guardian.stdin.close()
        self._guardian.wait()

    def _tell_guardian(self, line: str) -> None:
        pipe = self._guardian.stdin
        if pipe is None or pipe.closed:
            raise ProcessError("this group of processes is closed already")
        try:
            pipe.write(line.encode())
            pipe.flush()
        except BrokenPipeError:
            raise ProcessError("the guardian process has died; start the command again") from None


def _reap(children: Iterable[Child], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for child in children:
        child.wait(max(0.0, deadline - time.monotonic()))


def tail(log: Path, lines: int = 8, start: int = 0) -> str:
    """Return the last lines of a log file, indented, or a word on why there are none.

    Frames of Java stack traces are left out, their exceptions are not.
    """
    try:
        with log.open("rb") as handle:
            handle.seek(0, os.SEEK_END)
            handle.seek(max(start, handle.tell() - 16_384))
            text = handle.read().decode("utf-8", errors="replace")
    except OSError as error:
        return f"  (no log: {error})"
    last = [line for line in text.splitlines() if line.strip() and not _FRAME.match(line)][-lines:]
    return "\n".join(f"  {line}" for line in last) or "  (the log is empty)"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def wait_until(
    ready: Callable[[], bool],
    *,
    timeout_seconds: float,
    waiting_for: str,
    children: Iterable[Child] = (),
    interval_seconds: float = 0.1,
) -> None:
    """Ask again and again until something is ready.

    Raises:
        ProcessError: A child ended, or the time is over.
    """
    watched = tuple(children)
    deadline = time.monotonic() + timeout_seconds
    while not ready():
        for child in watched:
            if not child.alive:
                raise ProcessError(child.exit_report())
        if time.monotonic() > deadline:
            last = "".join(f"\n{child.name} ({child.log}):\n{child.tail(4)}" for child in watched)
            raise ProcessError(f"no {waiting_for} after {timeout_seconds:.0f} s{last}")
        time.sleep(interval_seconds)


def port_free(port: int, host: str = "127.0.0.1") -> bool:
    """Say whether a TCP port can be listened on."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def require_port(port: int, *, option: str, host: str = "127.0.0.1") -> None:
    """Check that a port is free."""
    if not port_free(port, host):
        raise PortTakenError(
            f"port {port} is taken: end what uses it, or choose another with {option}"
        )


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Return ports that are free now, all different."""
    probes = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    try:
        for probe in probes:
            probe.bind((host, 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
