"""Maintenance has one owner: whatever runs beside it, every row is there once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable

from config.settings import LakeSettings
from config.storage import RetentionSettings
from lake.errors import BusyError, LakeError, LeaseLostError
from lake.maintenance.lease import Lease, Rhythm, only_one
from lake.maintenance.run import JOB, maintain
from lake.schemas.tables import BROKERS, COLLECTIONS
from lake.storage.store import Lake
from lake.storage.table_maintenance import Maintained, maintain_table
from runtime.spawning import nameless_main
from tests.support import FOR_EVER

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
QUICK = Rhythm(beat_seconds=0.05, expiry_seconds=0.3)
ROUNDS = 12
POLLS = 20
PAUSES = 5
"""Moments at which a process is paused: before the fence and the compaction of each of two days,
and before it deletes files."""


@pytest.fixture
def settings(tmp_path: Path) -> LakeSettings:
    return LakeSettings(uri=str(tmp_path / "lake"), retention=FOR_EVER)


@pytest.fixture
def lake(settings: LakeSettings) -> Lake:
    return Lake(settings)


def append(lake: Lake, first: int, count: int) -> None:
    """Append polls of one broker, of two days in turn."""
    for number in range(first, first + count):
        at = NOW - timedelta(days=number % 2, seconds=-number)
        row = {"cluster": ["c"], "observed_at": [at], "poll_id": [str(number)], "broker_id": [1]}
        lake.append(BROKERS, pl.DataFrame(row))


def stored(lake: Lake) -> list[int]:
    """Return the polls as they lie in the files."""
    return sorted(int(poll) for poll in lake.scan(BROKERS).collect()["poll_id"])


@pytest.mark.parametrize("pause", range(PAUSES))
def test_a_stale_handle_compacts_nothing_twice(lake: Lake, pause: int) -> None:
    """Given a process that is paused at any moment of its maintenance, when another one does all
    of it meanwhile and the first one goes on with its stale handle, then every row is stored once.
    """
    append(lake, 0, POLLS)
    looks = 0

    def paused() -> None:
        nonlocal looks
        looks += 1
        if looks == pause + 1:
            append(lake, POLLS, 2)
            assert maintain_table(BROKERS, lake.uri(BROKERS), None, FOR_EVER) is not None

    assert maintain_table(BROKERS, lake.uri(BROKERS), None, FOR_EVER, confirm=paused) is not None
    assert looks > pause
    assert stored(lake) == list(range(POLLS + 2))


def test_who_has_lost_the_lease_commits_nothing(lake: Lake, tmp_path: Path) -> None:
    """Given a holder whose lease ran out and was taken, when it wants to go on, then it may not."""
    append(lake, 0, 4)
    first, second = (Lease(str(tmp_path / "lease"), None, JOB, QUICK) for _ in range(2))
    first.acquire()
    second.acquire()  # when the first one's has run out
    version = DeltaTable(lake.uri(BROKERS)).version()
    with pytest.raises(LeaseLostError, match="taken by another maintenance job"):
        maintain_table(BROKERS, lake.uri(BROKERS), None, FOR_EVER, confirm=first.renew)
    assert DeltaTable(lake.uri(BROKERS)).version() == version
    done = maintain_table(BROKERS, lake.uri(BROKERS), None, FOR_EVER, confirm=second.renew)
    assert done == Maintained(table="brokers", compacted_files=4)


def test_while_one_maintains_a_second_one_does_not(lake: Lake, settings: LakeSettings) -> None:
    append(lake, 0, 4)
    with (
        only_one(settings, JOB, lost=lambda error: pytest.fail(str(error))),
        pytest.raises(BusyError, match="another maintenance job works on"),
    ):
        maintain(lake, settings)
    assert [one.compacted_files for one in maintain(lake, settings)] == [4]


def test_a_table_that_fails_stops_no_other(lake: Lake, settings: LakeSettings) -> None:
    append(lake, 0, 4)
    row = {"cluster": ["c"], "observed_at": [NOW], "poll_id": ["p"]}
    lake.append(COLLECTIONS, pl.DataFrame(row))
    (Path(lake.uri(BROKERS)) / "_delta_log" / f"{0:020}.json").write_text("{broken\n")
    old = settings.model_copy(update={"retention": RetentionSettings(raw_days=1)})
    with pytest.raises(LakeError, match="brokers: maintenance failed"):
        maintain(lake, old)
    assert lake.read(COLLECTIONS).is_empty()


@pytest.mark.parametrize(
    "locked", [pytest.param(True, id="lock"), pytest.param(False, id="fence-alone")]
)
def test_two_processes_maintain_beside_a_writer(
    lake: Lake, settings: LakeSettings, *, locked: bool
) -> None:
    """Given two processes that maintain a lake at once, again and again, while a third one writes,
    then every row is stored once; even where no lock keeps the two apart."""
    append(lake, 0, 4)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.unit.lake.maintenance.test_run"])
    together, results = context.Barrier(3), context.Queue()
    children = [
        context.Process(target=maintain_often, args=(settings.uri, together, results, locked))
        for _ in range(2)
    ]
    with running(children):
        for number in range(ROUNDS):
            append(lake, 4 + 4 * number, 2)
            together.wait(60)
            if locked:  # without, two that never rest would let no writer through
                append(lake, 6 + 4 * number, 2)
            together.wait(60)
        done = [results.get(timeout=60) for _ in children]
    wanted = range(4 + 4 * ROUNDS)
    assert stored(lake) == [poll for poll in wanted if locked or poll < 4 or poll % 4 < 2]
    assert sum(compacted for compacted, _ in done) > 0


@contextmanager
def running(children: list[BaseProcess]) -> Iterator[None]:
    with nameless_main():  # tests of pages leave a page in its place
        for child in children:
            child.start()
    try:
        yield
        for child in children:
            child.join(60)
            assert child.exitcode == 0
    finally:
        for child in children:
            child.kill()


def maintain_often(
    uri: str, together: Barrier, results: Queue[tuple[int, int]], locked: bool
) -> None:
    """Maintain a lake in rounds; tell how many files it compacted, how often it could not."""
    settings = LakeSettings(uri=uri, retention=FOR_EVER)
    lake = Lake(settings)
    compacted = skipped = 0
    for _ in range(ROUNDS):
        together.wait(60)
        try:
            if locked:
                done = maintain(lake, settings)
            else:
                kept = maintain_table(BROKERS, lake.uri(BROKERS), None, FOR_EVER)
                done = [] if kept is None else [kept]
            compacted += sum(one.compacted_files for one in done)
        except LakeError as error:  # where no lock keeps them apart, they may keep each other off
            assert isinstance(error, BusyError) or "Metadata changed" in str(error)
            skipped += 1
        together.wait(60)
    results.put((compacted, skipped))
