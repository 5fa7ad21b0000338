"""Ends process groups when the process that started them is gone, however it went.

Run as a program with the read end of a pipe as standard input. The other end is held by the
parent alone, so the kernel closes it even when the parent is killed with SIGKILL. Lines are
``+ <group>`` and ``- <group>``. At the end of input every registered group is asked to end
(SIGTERM) and, after the grace period, made to (SIGKILL). Uses the standard library only and
nothing of one operating system alone.
"""

from __future__ import annotations

import os
import signal
import sys
import time


def group_alive(group: int) -> bool:
    """Say whether a process group has a member left that is not a zombie's husk."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS answers so for a group of zombies only
        return False
    return True


def signal_group(group: int, number: int) -> None:
    """Send a signal to a process group; one that is gone already is no error."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


def end_groups(groups: set[int], grace_seconds: float) -> None:
    """End process groups: SIGTERM, then SIGKILL for those that outlive the grace period."""
    for group in groups:
        signal_group(group, signal.SIGTERM)
        signal_group(group, signal.SIGCONT)  # a frozen process gets SIGTERM only when it runs
    deadline = time.monotonic() + grace_seconds
    while time.monotonic() < deadline and any(group_alive(group) for group in groups):
        time.sleep(0.05)
    for group in groups:
        signal_group(group, signal.SIGKILL)


def main() -> None:
    """Read registrations until the parent is gone, then end what is still registered."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    grace_seconds = float(sys.argv[1])
    groups: set[int] = set()
    for line in sys.stdin:
        action, _, group = line.partition(" ")
        if action == "+":
            groups.add(int(group))
        elif action == "-":
            groups.discard(int(group))
    end_groups(groups, grace_seconds)


if __name__ == "__main__":
    main()
