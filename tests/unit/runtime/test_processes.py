"""Child processes: logs, orderly ends, early deaths, and nothing left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.errors import PortTakenError, ProcessError
from runtime.processes import ProcessGroup, free_ports, port_free, require_port, tail, wait_until
from tests.support import eventually

ROOT = Path(__file__).parents[3]


@pytest.fixture
def processes() -> Iterator[ProcessGroup]:
    with ProcessGroup(grace_seconds=3) as group:
        yield group


def alive(pid: int) -> bool:
    found = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return found.stdout.strip()[:1] not in {"", "Z"}


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def test_output_goes_to_the_log(processes: ProcessGroup, tmp_path: Path) -> None:
    child = processes.start(
        "talker",
        shell('echo "out $WORD"; echo err >&2'),
        log=tmp_path / "logs" / "talker.log",
        environment={"WORD": "one"},
        folder=tmp_path,
    )
    assert child.wait(10)
    assert (tmp_path / "logs" / "talker.log").read_text() == "out one\nerr\n"
    assert child.returncode == 0


def test_arguments_reach_the_program_unchanged(processes: ProcessGroup, tmp_path: Path) -> None:
    child = processes.start("echo", ["/bin/echo", "two words", "$HOME", "'"], log=tmp_path / "log")
    assert child.wait(10)
    assert (tmp_path / "log").read_text() == "two words $HOME '\n"


def test_an_early_death_is_told_with_the_end_of_the_log(
    processes: ProcessGroup, tmp_path: Path
) -> None:
    (tmp_path / "log").write_text("an earlier run\n")
    child = processes.start(
        "broker 1", shell("echo first; echo 'disk full'; exit 3"), log=tmp_path / "log"
    )
    with pytest.raises(ProcessError) as caught:
        wait_until(lambda: False, timeout_seconds=10, waiting_for="nothing", children=[child])
    message = str(caught.value)
    assert message.startswith("broker 1 ended with exit status 3")
    assert "  first\n  disk full" in message
    assert "earlier run" not in message
    assert [one for one in processes.children if not one.alive] == [child]


def test_a_death_by_signal_is_named(processes: ProcessGroup, tmp_path: Path) -> None:
    child = processes.start("sleeper", ["sleep", "60"], log=tmp_path / "log")
    child.signal(signal.SIGKILL)
    assert child.wait(10)
    assert "sleeper was ended by SIGKILL" in child.exit_report()
    assert "(the log is empty)" in child.exit_report()


def test_a_program_that_does_not_exist_is_told(processes: ProcessGroup, tmp_path: Path) -> None:
    child = processes.start("nobody", ["/no/such/program"], log=tmp_path / "log")
    assert child.wait(10)
    assert child.returncode == 127
    assert "/no/such/program" in child.exit_report()


def test_stop_is_orderly_first(processes: ProcessGroup, tmp_path: Path) -> None:
    child = processes.start(
        "polite",
        shell("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"),
        log=tmp_path / "log",
    )
    eventually(lambda: "up" in child.tail(), what="first line")
    processes.stop(child)
    assert child.returncode == 0
    assert (tmp_path / "log").read_text().endswith("bye\n")
    assert processes.children == ()


def test_stop_kills_what_does_not_listen(tmp_path: Path) -> None:
    with ProcessGroup(grace_seconds=0.5) as processes:
        child = processes.start(
            "deaf", shell("trap '' TERM; echo up; while :; do sleep 0.05; done"), log=tmp_path / "l"
        )
        eventually(lambda: "up" in child.tail(), what="first line")
        before = time.monotonic()
        processes.stop(child)
        assert time.monotonic() - before < 5
        assert child.returncode == -signal.SIGKILL


def test_stop_reaches_grandchildren_and_frozen_processes(
    processes: ProcessGroup, tmp_path: Path
) -> None:
    child = processes.start("parent", shell("sleep 300 & echo $!; wait"), log=tmp_path / "log")
    grandchild = int(eventually(lambda: (tmp_path / "log").read_text().strip(), what="pid"))
    child.signal(signal.SIGSTOP)
    processes.stop(child)
    assert not alive(child.pid)
    eventually(lambda: not alive(grandchild), what="end of the grandchild")


def test_several_end_together(processes: ProcessGroup, tmp_path: Path) -> None:
    children = [
        processes.start(
            f"slow {number}",
            shell("trap 'sleep 1; exit 0' TERM; echo up; while :; do sleep 0.05; done"),
            log=tmp_path / f"{number}.log",
        )
        for number in range(4)
    ]
    for child in children:
        eventually(lambda child=child: "up" in child.tail(), what="first line")
    before = time.monotonic()
    processes.stop(*children)
    assert time.monotonic() - before < 3  # one second each, side by side
    assert [child.returncode for child in children] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGKILL, id="killed"), pytest.param(signal.SIGTERM, id="terminated")],
)
def test_nothing_outlives_the_parent(tmp_path: Path, number: int) -> None:
    script = textwrap.dedent(
        f"""
        import time
        from pathlib import Path
        from runtime.processes import ProcessGroup
        group = ProcessGroup(grace_seconds=1)
        log = Path({str(tmp_path / "log")!r})
        kind = "trap '' TERM; while :; do sleep 0.1; done"
        pids = [group.start("a", ["sleep", "300"], log=log).pid,
                group.start("b", ["/bin/sh", "-c", kind], log=log).pid,
                group._guardian.pid]
        print(*pids, flush=True)
        time.sleep(300)
        """
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    parent.stdout.close()
    assert len(pids) == 3
    assert all(alive(pid) for pid in pids)
    parent.send_signal(number)
    parent.wait(10)
    for pid in pids:
        eventually(lambda pid=pid: not alive(pid), timeout_seconds=15, what=f"end of {pid}")


def test_a_closed_group_starts_nothing(tmp_path: Path) -> None:
    group = ProcessGroup()
    group.close()
    with pytest.raises(ProcessError, match="closed already"):
        group.start("late", ["/bin/sh", "-c", f"touch {tmp_path}/ran"], log=tmp_path / "log")
    assert not (tmp_path / "ran").exists()


def test_waiting_ends_at_the_deadline() -> None:
    with pytest.raises(ProcessError, match="no miracle after 0 s"):
        wait_until(lambda: False, timeout_seconds=0.2, waiting_for="miracle")


def test_a_tail_leaves_out_the_frames_of_java(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "java.lang.IllegalStateException: broken\n"
        "\tat org.example.Main.run(Main.java:3)\n"
        "\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
        "Caused by: java.io.IOException: disk full\n"
        "\t... 12 more\n"
    )
    assert tail(log).splitlines() == [
        "  java.lang.IllegalStateException: broken",
        "  Caused by: java.io.IOException: disk full",
    ]


def test_a_taken_port_is_told_with_the_option() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        assert not port_free(port)
        with pytest.raises(PortTakenError, match=f"port {port} is taken: .*--port"):
            require_port(port, option="--port")
    require_port(port, option="--port")


def test_free_ports_differ_and_are_free() -> None:
    ports = free_ports(10)
    assert len(set(ports)) == 10
    assert all(port_free(port) for port in ports)


def test_the_group_id_is_the_process_id(processes: ProcessGroup, tmp_path: Path) -> None:
    child = processes.start("leader", ["sleep", "60"], log=tmp_path / "log")
    assert os.getpgid(child.pid) == child.pid
    assert os.getpgid(child.pid) != os.getpgid(0)
