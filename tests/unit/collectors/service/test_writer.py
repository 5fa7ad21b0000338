from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from deltalake.exceptions import DeltaError

from collectors.service.rows import Seldom, Stamp
from collectors.service.writer import LakeWriter
from collectors.source.model import SectionResult
from config.settings import LakeSettings
from lake.errors import LakeError, LeaseLostError
from lake.maintenance.lease import Lease
from lake.schemas.model import Table
from lake.schemas.tables import BROKERS, COLLECTIONS, QUORUM
from lake.storage.store import Lake
from tests.support import eventually


class Moody(Lake):
    """A lake that waits until it may go on, refuses, or breaks."""

    def __init__(self, folder: Path) -> None:
        super().__init__(LakeSettings(uri=str(folder / "lake")))
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.failure: Exception | None = None

    def append(
        self, table: Table, frame: pl.DataFrame, tokens: Mapping[str, int] | None = None
    ) -> int:
        assert self.may_go_on.wait(30)
        if self.failure is not None:
            raise self.failure
        return super().append(table, frame, tokens)


@pytest.fixture
def lake(tmp_path: Path) -> Moody:
    return Moody(tmp_path)


@pytest.fixture
def writer(lake: Moody) -> Iterator[LakeWriter]:
    made = LakeWriter(lake, waiting_bytes=20_000)
    made.start()
    yield made
    lake.may_go_on.set()
    lake.failure = None
    assert made.stop(30)


class FakeLease(Lease):
    """A lease that says what a test wants."""

    def __init__(self, *answers: Exception) -> None:
        super().__init__("nowhere", None, "collectors")
        self.answers = list(answers)
        self.events: list[str] = []

    def confirm(self) -> None:
        self.events.append("confirm")
        if self.answers:
            raise self.answers.pop(0)

    renew = confirm

    def release(self) -> None:
        self.events.append("release")


HELD = FakeLease()


def put(
    writer: LakeWriter,
    source: str = "kafka",
    rows: int = 2,
    cluster: str = "shop",
    lease: Lease = HELD,
) -> None:
    frame = pl.DataFrame({"broker_id": range(rows)}, schema={"broker_id": pl.Int32})
    now = datetime.now(UTC)
    result = SectionResult(
        section="brokers",
        started_at=now,
        duration_seconds=0.1,
        status="ok",
        error=None,
        frames={"brokers": frame},
    )
    writer.put(result, Stamp.new(source, cluster, now), 15.0, lease)


def losses(lake: Lake) -> dict[tuple[str, str], str]:
    rows = lake.read(COLLECTIONS, pl.col("section") == "lake")
    return {
        (cluster, source): f"{status}: {error}"
        for cluster, source, status, error in rows.select(
            "cluster", "source", "status", "error"
        ).iter_rows()
    }


def test_a_loss_is_told_under_the_source_whose_rows_are_gone(
    writer: LakeWriter, lake: Moody
) -> None:
    lake.failure = LakeError("no space left on device")
    put(writer, "kafka", 2)
    put(writer, "connect/main", 5)
    put(writer, "kafka", 3, cluster="other")
    # Each of the three has a row of collections, too.
    eventually(lambda: writer.state().lost_rows == 13, what="loss of all rows")
    assert writer.state().losing_because == "no space left on device"
    lake.failure = None
    put(writer, "rabbitmq/rabbit", 1, cluster="rabbit")
    eventually(lambda: len(losses(lake)) == 3, what="rows about the losses")
    eventually(lambda: writer.state().written_rows == 2, what="rows and the row about them")
    assert losses(lake) == {
        ("shop", "kafka"): "failed: 3 rows were not written: no space left on device",
        ("shop", "connect/main"): "failed: 6 rows were not written: no space left on device",
        ("other", "kafka"): "failed: 4 rows were not written: no space left on device",
    }
    assert lake.read(BROKERS)["cluster"].to_list() == ["rabbit"]
    state = writer.state()
    assert (state.lost_rows, state.written_rows, state.losing_because) == (13, 2, None)


def test_a_slow_lake_delays_nobody_and_takes_no_memory_without_limit(
    writer: LakeWriter, lake: Moody
) -> None:
    lake.may_go_on.clear()
    start = time.monotonic()
    for _ in range(200):
        put(writer, rows=100)
    assert time.monotonic() - start < 5
    state = writer.state()
    assert 0 < state.waiting_bytes <= 20_000
    assert state.lost_rows > 10_000
    assert state.losing_because is not None
    assert "too slow" in state.losing_because
    lake.may_go_on.set()
    eventually(lambda: writer.state().waiting_bytes == 0, what="end of the queue")
    eventually(lambda: losses(lake), what="row about the loss")
    written = lake.read(BROKERS).height
    recorded = lake.read(COLLECTIONS, pl.col("section") == "brokers").height
    assert written + recorded + state.lost_rows == 200 * 101
    assert losses(lake) == {
        (
            "shop",
            "kafka",
        ): f"failed: {state.lost_rows} rows were not written: "
        "the lake is too slow: too many rows wait for it"
    }
    assert writer.state().losing_because is None


def test_what_is_larger_than_the_limit_is_written_where_nothing_waits(
    writer: LakeWriter, lake: Moody
) -> None:
    put(writer, rows=50_000)
    eventually(lambda: lake.read(BROKERS).height == 50_000, what="rows")


def test_a_fault_in_one_table_ends_no_writing(writer: LakeWriter, lake: Moody) -> None:
    lake.failure = RuntimeError("a fault of ours")
    put(writer)
    eventually(lambda: writer.state().lost_rows == 3, what="loss")
    lake.failure = None
    put(writer)
    eventually(lambda: losses(lake), what="row about the loss")
    assert "RuntimeError: a fault of ours" in losses(lake)["shop", "kafka"]
    assert writer.thread.is_alive()


def test_nothing_is_nothing_to_write(writer: LakeWriter, lake: Moody) -> None:
    put(writer, rows=0)
    eventually(lambda: lake.read(COLLECTIONS).height == 1, what="row of the section")
    assert not lake.exists(BROKERS)
    assert writer.state().written_rows == 1


def test_rows_about_the_sections_of_a_poll_are_one_commit(writer: LakeWriter, lake: Moody) -> None:
    lake.may_go_on.clear()
    for _ in range(3):
        put(writer)
    writer.flush()
    lake.may_go_on.set()
    eventually(lambda: writer.state().written_rows == 9, what="rows")
    statistics = lake.statistics(COLLECTIONS)
    assert statistics is not None
    assert (statistics.version, lake.read(COLLECTIONS).height) == (0, 3)
    writer.flush()  # of a poll without a row
    put(writer)
    eventually(lambda: writer.state().written_rows == 12, what="rows of the next poll")


def test_rows_of_polls_that_are_under_way_together_are_one_commit(
    writer: LakeWriter, lake: Moody
) -> None:
    with writer.polling():
        with writer.polling():
            put(writer)
        put(writer, source="connect/shop")
    eventually(lambda: writer.state().written_rows == 6, what="rows of both")
    for table in (BROKERS, COLLECTIONS):
        statistics = lake.statistics(table)
        assert statistics is not None
        assert statistics.version == 0


def test_rows_do_not_wait_long_for_the_end_of_a_poll(writer: LakeWriter) -> None:
    with writer.polling():
        put(writer)
        eventually(lambda: writer.state().written_rows == 3, what="rows of the section")


def test_many_rows_do_not_wait_for_the_end_of_a_poll(
    writer: LakeWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collectors.service.writer._LINGER_SECONDS", 3600.0)
    monkeypatch.setattr("collectors.service.writer._LARGE_BYTES", 100)
    with writer.polling():
        put(writer, rows=100)
        eventually(lambda: writer.state().written_rows >= 100, what="rows of the section")


def test_rows_of_a_lease_that_was_lost_are_not_written(lake: Moody, writer: LakeWriter) -> None:
    lost = FakeLease(*[LeaseLostError("taken")] * 9)
    put(writer, cluster="lost", lease=lost)
    put(writer, cluster="held")
    writer.flush()
    eventually(lambda: lake.read(COLLECTIONS).height > 0, what="rows of the lease that is held")
    for table in (BROKERS, COLLECTIONS):
        assert set(lake.read(table)["cluster"]) == {"held"}
    assert writer.state().lost_rows == 0


def test_rows_wait_while_nobody_says_whether_the_lease_is_held(
    lake: Moody, writer: LakeWriter
) -> None:
    put(writer, lease=FakeLease(DeltaError("the store is away"), OSError("and again")))
    writer.flush()
    eventually(lambda: lake.read(BROKERS).height == 2, what="rows after the store came back")
    assert writer.state().lost_rows == 0


def test_a_lease_is_given_back_behind_its_last_row(lake: Moody, writer: LakeWriter) -> None:
    lease = FakeLease()
    lake.may_go_on.clear()
    put(writer, lease=lease)
    writer.end_of_term("shop", lease)
    eventually(lambda: "confirm" in lease.events, what="append that has begun")
    assert "release" not in lease.events
    lake.may_go_on.set()
    eventually(lambda: "release" in lease.events, what="lease given back")
    assert lake.read(BROKERS).height == 2


def test_who_finds_larger_tokens_looks_and_gives_up(lake: Moody, writer: LakeWriter) -> None:
    """Given a machine frozen with its clocks, when it wakes, then the table tells it."""

    class Frozen(FakeLease):
        def renew(self) -> None:
            self.events.append("renew")
            self.answers = [LeaseLostError("taken")] * 9
            raise self.answers[0]

    frozen = Frozen()
    frame = pl.DataFrame(
        {"cluster": ["shop"], "observed_at": [datetime.now(UTC)], "poll_id": ["1"]}
    )
    for table, named in ((BROKERS, {"broker_id": 1}), (COLLECTIONS, {"section": "s"})):
        columns = [
            pl.lit(value, table.polars_schema[name]).alias(name) for name, value in named.items()
        ]
        lake.append(table, frame.with_columns(columns), {"headroom/collectors/shop": 1})
    put(writer, lease=frozen)
    put(writer, cluster="held")
    writer.flush()
    eventually(lambda: lake.read(BROKERS, cluster="held").height == 2, what="rows of the other")
    eventually(lambda: lake.read(COLLECTIONS, cluster="held").height == 1, what="rows of the other")
    assert "renew" in frozen.events
    assert lake.read(BROKERS, cluster="shop").height == 1
    assert lake.read(COLLECTIONS, cluster="shop").height == 1
    assert writer.state().lost_rows == 0


def test_the_quorum_is_written_once_a_minute_for_each_cluster() -> None:
    seldom, began = Seldom(), datetime(2026, 1, 5, 10, tzinfo=UTC)

    def due(seconds: int, cluster: str = "shop", table: Table = QUORUM) -> bool:
        return seldom.is_due(table, Stamp.new("kafka", cluster, began + timedelta(seconds=seconds)))

    assert [second for second in range(0, 130, 5) if due(second)] == [0, 60, 120]
    assert due(125, cluster="other")
    assert due(60)  # the clock was set back
    assert due(125, table=BROKERS)
    assert due(126, table=BROKERS)
