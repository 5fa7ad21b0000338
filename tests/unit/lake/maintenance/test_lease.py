from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from lake.errors import BusyError, LeaseLostError
from lake.maintenance.lease import Lease, Rhythm
from tests.support import eventually

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
