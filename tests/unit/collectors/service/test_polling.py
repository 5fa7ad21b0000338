"""Polls at their cadence, whatever a source or the lake does."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from collectors.service.polling import Service
from collectors.service.snapshot import Snapshots
from collectors.source.model import Recall
from config.settings import LakeSettings
from lake.errors import LakeError
from lake.schemas.model import Table
from lake.schemas.tables import BROKERS, COLLECTIONS, PARTITIONS, TOPICS
from lake.storage.store import Lake
from tests.support import eventually
from tests.unit.collectors.service.scripted import FAULT, INTERVAL_SECONDS, Script, fixed, polls

TOLERANCE_SECONDS = 0.19


class Broken(Lake):
    """A lake that refuses to append for a while."""

    refuses = True

    def append(
        self, table: Table, frame: pl.DataFrame, tokens: Mapping[str, int] | None = None
    ) -> int:
        if self.refuses:
            raise LakeError(f"{table.name}: no space left on device")
        return super().append(table, frame, tokens)


def serve(service: Service, until: threading.Event) -> None:
    """Run a service in a thread and stop it."""
    thread = threading.Thread(target=service.run)
    thread.start()
    until.wait(60)
    service.stop()
    thread.join(60)
    assert not thread.is_alive()


def test_rows_of_a_poll_share_its_moment_and_id(lake: Lake) -> None:
    source = Script("shop")
    serve(Service(fixed(source), lake), polls(source, 2))
    brokers = lake.read(BROKERS)
    assert set(brokers["cluster"]) == {"shop"}
    for _, rows in brokers.group_by("poll_id"):
        assert rows["broker_id"].sort().to_list() == [1, 2]
        assert rows["observed_at"].n_unique() == 1
    collections = lake.read(COLLECTIONS)
    assert set(collections["interval_seconds"]) == {INTERVAL_SECONDS}
    statuses = dict(collections.select("section", "status").unique().iter_rows())
    assert statuses == {"brokers": "ok", "groups": "failed"}
    failed = collections.filter(pl.col("section") == "groups")
    assert set(failed["error"]) == {"no broker answered"}
    assert set(failed["rows"]) == {0}
    assert source.closed.is_set()


def test_what_is_wrong_is_logged_once(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    sources = [Script("shop"), Script("broken", error=FAULT)]
    with caplog.at_level("INFO"):
        serve(Service(fixed(*sources), lake), polls(sources[0], 5))
    assert len(sources[0].begun) >= 5
    assert caplog.text.count("no broker answered") == 1
    assert caplog.text.count("poll failed") == 1
    assert caplog.text.count(" duration=") == 2  # once a source, as long as its sections stay so


def test_a_restart_recalls_the_last_poll(lake: Lake) -> None:
    first = Script("shop")
    serve(Service(fixed(first), lake), polls(first, 2))
    assert first.remembered == {}
    second, other = Script("shop"), Script("other")
    serve(Service(fixed(second, other), lake), polls(second, 1))
    assert second.remembered.keys() == {"brokers"}
    assert second.remembered["brokers"]["broker_id"].sort().to_list() == [1, 2]
    assert other.remembered == {}


def test_a_restart_recalls_the_last_poll_of_one_source_of_several(lake: Lake) -> None:
    both = Script("shop", kind="one"), Script("shop", kind="two")
    serve(Service(fixed(*both), lake), polls(both[0], 3))
    again = Script("shop", kind="one"), Script("shop", kind="two")
    for source in again:
        source.recalled = [Recall(table="brokers", only={"host": source.name})]
    serve(Service(fixed(*again), lake), polls(again[0], 1))
    for source in again:
        assert source.remembered["brokers"]["host"].to_list() == [source.name] * 2


def test_the_cadence_does_not_drift(lake: Lake) -> None:
    # Each poll takes half the interval: sleeping the interval after it would drift by half.
    source = Script("shop", [0.2] * 20)
    serve(Service(fixed(source), lake), polls(source, 8))
    offsets = [begun - source.begun[0] for begun in source.begun]
    for number, offset in enumerate(offsets):
        assert offset == pytest.approx(number * INTERVAL_SECONDS, abs=TOLERANCE_SECONDS)


def test_a_late_poll_is_skipped_and_recorded_never_stacked(lake: Lake) -> None:
    source = Script("shop", [0.0, 1.0])
    serve(Service(fixed(source), lake), polls(source, 4))
    # Polls 0 and 1 begin in time; 1 takes until 1.4; 2 and 3 fall out; the next is 4, at 1.6.
    offsets = [begun - source.begun[0] for begun in source.begun[:4]]
    assert offsets == pytest.approx([0.0, 0.4, 1.6, 2.0], abs=TOLERANCE_SECONDS)
    skipped = lake.read(COLLECTIONS).filter(pl.col("status") == "skipped").sort("observed_at")
    assert skipped["section"].to_list() == ["poll", "poll"]
    first = lake.read(COLLECTIONS)["observed_at"].min()
    assert isinstance(first, datetime)
    for row, due in zip(skipped.to_dicts(), (0.8, 1.2), strict=True):
        late = row["observed_at"] - first
        assert late == pytest.approx(
            timedelta(seconds=due), abs=timedelta(seconds=TOLERANCE_SECONDS)
        )
        assert "took" in row["error"]
        assert row["interval_seconds"] == INTERVAL_SECONDS


def test_a_slow_source_costs_the_others_nothing(lake: Lake) -> None:
    slow, quick = Script("slow", [2.4]), Script("quick")
    serve(Service(fixed(slow, quick), lake), polls(quick, 5))
    assert len(slow.begun) == 1
    offsets = [begun - quick.begun[0] for begun in quick.begun[:5]]
    assert offsets == pytest.approx([0.0, 0.4, 0.8, 1.2, 1.6], abs=TOLERANCE_SECONDS)


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(FAULT, id="an error"),
        pytest.param(pl.exceptions.PanicException("a fault of the source"), id="a panic"),
    ],
)
def test_a_fault_of_a_source_is_recorded_and_its_polling_goes_on(
    lake: Lake, failure: BaseException
) -> None:
    source = Script("shop", error=failure)
    serve(Service(fixed(source), lake), polls(source, 3))
    assert len(source.begun) >= 3
    rows = lake.read(COLLECTIONS)
    assert set(rows["section"]) == {"poll"}
    assert set(rows["status"]) == {"failed"}
    assert set(rows["error"]) == {f"{type(failure).__name__}: a fault of the source"}


def test_a_broken_lake_does_not_end_the_service_and_the_loss_is_told(tmp_path: Path) -> None:
    lake = Broken(LakeSettings(uri=str(tmp_path / "lake")))
    source = Script("shop")
    service = Service(fixed(source), lake)
    thread = threading.Thread(target=service.run)
    thread.start()
    polls(source, 3).wait(60)
    lake.refuses = False

    def reported() -> bool:
        rows = lake.read(COLLECTIONS).filter(pl.col("section") == "lake")
        return rows.height == 1 and "no space left on device" in rows["error"][0]

    eventually(reported, timeout_seconds=60, what="row about the loss")
    eventually(lambda: lake.read(BROKERS).height > 0, timeout_seconds=60, what="rows after it")
    service.stop()
    thread.join(60)
    assert not thread.is_alive()


def test_a_stop_writes_what_was_read(lake: Lake) -> None:
    source = Script("shop", [0.5])
    begun = datetime.now(UTC)
    serve(Service(fixed(source), lake), polls(source, 1))
    assert lake.read(BROKERS).height == 2
    assert datetime.now(UTC) - begun < timedelta(seconds=5)


def test_sources_of_many_kinds_and_clusters_each_at_its_own_cadence(lake: Lake) -> None:
    sources = [
        Script("shop", kind="kafka"),
        Script("shop", kind="connect/main", interval_seconds=0.8),
        Script("other", [None], kind="kafka"),
        Script("rabbit", error=FAULT, kind="rabbitmq/rabbit"),
        Script("shop", kind="prometheus/m", interval_seconds=0.2),
    ]
    first, connect, hangs, broken, quick = sources
    service = Service(fixed(*sources), lake)
    thread = threading.Thread(target=service.run)
    thread.start()
    polls(first, 6).wait(60)
    counts = [len(source.begun) for source in (first, connect, hangs, broken, quick)]
    hangs.goes_on.set()
    service.stop()
    thread.join(60)
    assert counts[2] == 1
    assert counts[0] == pytest.approx(6, abs=1)
    assert counts[1] == pytest.approx(3, abs=1)
    assert counts[3] == pytest.approx(6, abs=1)
    assert counts[4] == pytest.approx(11, abs=2)
    rows = lake.read(COLLECTIONS)
    intervals = dict(rows.select("source", "interval_seconds").unique().iter_rows())
    assert intervals.keys() == {source.name for source in sources}
    assert intervals["connect/main"] == 0.8
    assert set(rows.filter(pl.col("source") == "rabbitmq/rabbit")["status"]) == {"failed"}


def test_the_newest_rows_are_there_for_scrapes(lake: Lake) -> None:
    source, broken = Script("shop"), Script("other", error=FAULT)
    snapshots = Snapshots([source, broken])
    serve(Service(fixed(source, broken), lake, snapshots), polls(broken, 3))
    first, second = snapshots.states()
    assert first.tables["brokers"].rows["broker_id"].to_list() == [1, 2]
    assert {name: each.status for name, each in first.sections.items()} == {
        "brokers": "ok",
        "groups": "failed",
    }
    assert first.polled_at is not None
    assert second.polled_at is not None
    assert second.sections["poll"].error == "RuntimeError: a fault of the source"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ended_is_named(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    source, other = Script("shop", kind="kafka"), Script("other", kind="kafka")
    service = Service(fixed(source, other), lake)
    assert service.dead_threads() == []

    def fail(*_: object) -> None:
        raise SystemExit

    # No error, however unexpected, ends a thread: only what is none.
    monkeypatch.setattr(source, "poll", fail)
    thread = threading.Thread(target=service.run)
    thread.start()
    eventually(lambda: service.dead_threads() == ["poll-shop-kafka"], what="dead thread")
    polls(other, 3).wait(60)
    assert len(other.begun) >= 3
    service.stop()
    thread.join(60)
    assert service.dead_threads() == []


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(ValueError("a fault of ours"), id="an error"),
        pytest.param(pl.exceptions.PanicException("a fault of Polars"), id="a panic"),
    ],
)
def test_a_source_that_cannot_recall_is_polled(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    first = Script("shop")
    serve(Service(fixed(first), lake), polls(first, 1))

    def fail(*_: object) -> None:
        raise failure

    second = Script("shop")
    monkeypatch.setattr(second, "remember", fail)
    serve(Service(fixed(second), lake), polls(second, 3))
    assert len(second.begun) >= 3


def test_a_restart_recalls_the_newest_row_of_each(lake: Lake) -> None:
    now = datetime.now(UTC)
    schema = {
        name: TOPICS.polars_schema[name]
        for name in ("topic", "kind", "cluster", "observed_at", "poll_id")
    }
    rows = [
        ("a", "old", "shop", now - timedelta(hours=1), "1"),
        ("b", "kept", "shop", now - timedelta(hours=1), "1"),
        ("a", "new", "shop", now - timedelta(minutes=1), "2"),
        ("c", "forgotten", "shop", now - timedelta(hours=3), "0"),
        ("a", "another", "other", now, "3"),
    ]
    lake.append(TOPICS, pl.DataFrame(rows, schema=schema, orient="row"))
    source = Script("shop")
    source.recalled = [Recall(table="topics", each=("topic",), columns=("kind",))]
    serve(Service(fixed(source), lake), polls(source, 1))
    recalled = source.remembered["topics"].select("topic", "kind")
    assert dict(recalled.iter_rows()) == {"a": "new", "b": "kept"}


def test_a_restart_recalls_what_several_polls_wrote_the_oldest_first(lake: Lake) -> None:
    now = datetime.now(UTC)
    rows = [
        ("t", minutes, cluster, now - timedelta(minutes=minutes), str(minutes))
        for minutes, cluster in ((1, "shop"), (14, "shop"), (2, "shop"), (2, "other"), (20, "shop"))
    ]
    names = ("topic", "partition", "cluster", "observed_at", "poll_id")
    schema = {name: PARTITIONS.polars_schema[name] for name in names}
    lake.append(PARTITIONS, pl.DataFrame(rows, schema=schema, orient="row"))
    source = Script("shop")
    source.recalled = [Recall(table="partitions", polls=4, columns=("topic", "partition"))]
    serve(Service(fixed(source), lake), polls(source, 1))
    recalled = [rows["partition"].sort().to_list() for rows in source.remembered_polls]
    assert recalled == [[14], [1, 2]]
    wanted = ["topic", "partition", "observed_at", "stream", "row_kind"]
    assert source.remembered_polls[0].columns == wanted
    assert source.remembered == {}
