from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lake.errors import BusyError, LeaseLostError
from lake.maintenance.lease import Lease, Rhythm
from tests.support import eventually

ROOT = Path(__file__).parents[4]
QUICK = Rhythm(beat_seconds=0.05, expiry_seconds=0.6)
NEVER = Rhythm(beat_seconds=0.05, expiry_seconds=3600)


def unexpected(error: LeaseLostError) -> None:
    raise AssertionError(error)


def lease(folder: Path, rhythm: Rhythm = QUICK) -> Lease:
    return Lease(str(folder / "lease"), None, "history", rhythm)


def test_a_lease_that_is_renewed_is_refused_to_others(tmp_path: Path) -> None:
    first = lease(tmp_path)
    first.acquire()
    first.keep(unexpected)
    with pytest.raises(BusyError, match="another history job works on this lake"):
        lease(tmp_path, NEVER).acquire()
    first.release()


def test_a_lease_that_was_given_back_is_free_at_once(tmp_path: Path) -> None:
    first = lease(tmp_path, NEVER)
    first.acquire()
    first.keep(unexpected)
    first.release()
    reported: list[str] = []
    second = lease(tmp_path, NEVER)
    second.acquire(reported.append)
    assert reported == []
    second.release()


def test_one_given_back_while_another_waits_is_taken(tmp_path: Path) -> None:
    first = lease(tmp_path, NEVER)
    first.acquire()
    reported = threading.Event()
    second = lease(tmp_path, NEVER)
    taken = threading.Thread(target=second.acquire, args=(lambda _: reported.set(),))
    taken.start()
    assert reported.wait(10)
    first.release()
    taken.join(10)
    assert not taken.is_alive()
    second.renew()


def test_one_whose_holder_died_runs_out_and_the_dead_may_not_return(tmp_path: Path) -> None:
    dead, reported = lease(tmp_path), []
    dead.acquire()
    begun = time.monotonic()
    second = lease(tmp_path)
    second.acquire(reported.append)
    assert time.monotonic() - begun >= QUICK.expiry_seconds
    assert len(reported) == 1
    with pytest.raises(LeaseLostError, match="taken by another"):
        dead.renew()
    second.renew()


def test_who_lost_it_neither_takes_it_back_nor_frees_it(tmp_path: Path) -> None:
    first, second = lease(tmp_path), lease(tmp_path)
    first.acquire()
    second.acquire()
    for _ in range(2):
        with pytest.raises(LeaseLostError):
            first.renew()
    first.release()
    second.renew()
    second.keep(unexpected)
    with pytest.raises(BusyError):
        lease(tmp_path, NEVER).acquire()
    second.release()


def test_who_lost_it_is_told(tmp_path: Path) -> None:
    frozen, lost = lease(tmp_path), threading.Event()
    frozen.acquire()
    lease(tmp_path).acquire()
    frozen.keep(lambda _: lost.set())
    assert lost.wait(10)


def test_of_many_who_try_one_gets_it(tmp_path: Path) -> None:
    got: list[Lease] = []
    refused: list[BusyError] = []
    ready = threading.Barrier(6)

    def attempt() -> None:
        one = lease(tmp_path, NEVER)
        ready.wait()
        try:
            one.acquire()
            one.keep(unexpected)
            got.append(one)
        except BusyError as error:
            refused.append(error)

    threads = [threading.Thread(target=attempt) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(got), len(refused)) == (1, 5)
    got[0].release()


def test_of_many_who_make_it_one_does(tmp_path: Path) -> None:
    """A second creation would free a lease that is held."""
    for number in range(20):
        ready = threading.Barrier(8)

        def attempt(folder: Path, ready: threading.Barrier) -> None:
            one = lease(folder, NEVER)
            ready.wait()
            with suppress(BusyError):
                one.acquire()
                one.keep(unexpected)
                one.release()

        folder = tmp_path / str(number)
        threads = [threading.Thread(target=attempt, args=(folder, ready)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        operations = [one["operation"] for one in DeltaTable(folder / "lease").history()]
        assert operations.count("CREATE TABLE") == 1


def test_beats_leave_no_growing_log(tmp_path: Path) -> None:
    one = lease(tmp_path)
    one.acquire()
    DeltaTable(tmp_path / "lease").alter.set_table_properties(
        {"delta.logRetentionDuration": "interval 0 seconds"}
    )
    two = lease(tmp_path)
    two.acquire()
    for _ in range(350):
        two.renew()
    log = tmp_path / "lease" / "_delta_log"
    eventually(lambda: len(list(log.iterdir())) < 150, what="short log")
    assert list((tmp_path / "lease").glob("*.parquet")) == []


class Clock:
    """Seconds that a test lets pass."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_who_was_away_for_long_looks_before_it_goes_on(tmp_path: Path) -> None:
    """A process that was stopped knows nothing of it but that time has passed."""
    clock = Clock()
    stopped = Lease(str(tmp_path / "lease"), None, "history", QUICK, clock)
    stopped.acquire()
    lease(tmp_path).acquire()
    stopped.confirm()  # so early that nobody can have taken it, as far as it knows
    clock.now += QUICK.expiry_seconds
    with pytest.raises(LeaseLostError):
        stopped.confirm()
    assert stopped.is_lost


def test_a_look_is_a_renewal_and_counts_from_its_beginning(tmp_path: Path) -> None:
    clock = Clock()
    one = Lease(str(tmp_path / "lease"), None, "history", QUICK, clock)
    one.acquire()

    def version() -> int:
        return DeltaTable(tmp_path / "lease").version()

    before = version()
    one.confirm()
    assert version() == before
    clock.now += QUICK.expiry_seconds
    one.confirm()
    one.confirm()
    assert version() == before + 1


def test_a_holder_that_beats_slowly_is_watched_for_as_long_as_it_said(tmp_path: Path) -> None:
    slow = Rhythm(beat_seconds=0.8, expiry_seconds=3.0)
    first = lease(tmp_path, slow)
    first.acquire()
    first.keep(unexpected)
    with pytest.raises(BusyError):
        lease(tmp_path, QUICK).acquire()
    first.release()


def test_a_wait_can_be_ended_and_says_for_whom_it_was(tmp_path: Path) -> None:
    lease(tmp_path, NEVER).acquire()
    waiting, waits = lease(tmp_path, NEVER), threading.Event()
    refused: list[BusyError] = []

    def wait() -> None:
        try:
            waiting.acquire(lambda _: waits.set())
        except BusyError as error:
            refused.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    assert waits.wait(10)
    assert waiting.other == f"{socket.gethostname()}/{os.getpid()}"
    waiting.release()
    thread.join(10)
    assert len(refused) == 1


def test_one_of_a_process_that_ended_on_this_machine_is_free_at_once(tmp_path: Path) -> None:
    code = (
        "import os, sys; from lake.maintenance.lease import Lease; "
        "Lease(sys.argv[1], None, 'history').acquire(); os._exit(9)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "lease")]
    assert subprocess.run(command, cwd=ROOT, check=False, timeout=60).returncode == 9
    next_one = lease(tmp_path, NEVER)
    next_one.acquire()
    next_one.renew()


def test_one_of_a_process_elsewhere_is_waited_for(tmp_path: Path) -> None:
    """A number of a process says nothing of another machine or container."""
    lease(tmp_path).acquire()
    mark = "another-boot pid:[1] 999999999 1"
    DeltaTable(tmp_path / "lease").alter.set_table_properties(
        {"headroom.process": mark}, raise_if_not_exists=False
    )
    begun = time.monotonic()
    lease(tmp_path).acquire()
    assert time.monotonic() - begun >= QUICK.expiry_seconds
