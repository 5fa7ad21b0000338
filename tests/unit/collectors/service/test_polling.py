from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from collectors.errors import SettingsError
from collectors.service.cluster import ClusterState, rhythm
from collectors.service.polling import Plan, Service
from collectors.service.snapshot import Snapshots
from collectors.source.model import Check, Recall, SectionResult
from config.settings import LakeSettings
from lake.errors import LakeError
from lake.schemas.model import Table
from lake.schemas.tables import BROKERS, COLLECTIONS
from lake.storage.store import Lake
from tests.support import eventually

INTERVAL_SECONDS = 0.4
TOLERANCE_SECONDS = 0.19
FAULT = RuntimeError("a fault of the source")


class Script:
    """A source whose polls take as long as the script says; 0 when it is used up, and None until
    they are let go on.
    """

    def __init__(
        self,
        name: str,
        durations: Sequence[float | None] = (),
        error: BaseException | None = None,
        kind: str = "script",
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        self.name = kind
        self.cluster = name
        self.cluster_id = None
        self.controller = None
        self.interval_seconds = interval_seconds
        self.begun: list[float] = []
        self.closed = threading.Event()
        self.goes_on = threading.Event()  # for a poll without an end, of a duration of None
        self.recalled: Sequence[Recall] = [Recall("brokers"), Recall("groups")]
        self.remembered: Mapping[str, pl.DataFrame] = {}
        self._durations = list(durations)
        self._error = error

    @property
    def recalls(self) -> Sequence[Recall]:
        return self.recalled

    def remember(self, tables: Mapping[str, pl.DataFrame]) -> None:
        self.remembered = tables

    def poll(self, now: datetime) -> Iterator[SectionResult]:
        self.begun.append(time.monotonic())
        if self._error is not None:
            raise self._error
        if self._durations:
            self.goes_on.wait(self._durations.pop(0))
        frame = pl.DataFrame(
            {"broker_id": [1, 2], "is_alive": [True, False], "host": [self.name] * 2}
        )
        yield SectionResult(
            section="brokers",
            started_at=now,
            duration_seconds=0.01,
            status="ok",
            error=None,
            frames={"brokers": frame},
        )
        yield SectionResult(
            section="groups",
            started_at=now,
            duration_seconds=0.02,
            status="failed",
            error="no broker answered",
        )

    def check(self) -> Sequence[Check]:
        return []

    def close(self) -> None:
        self.closed.set()


class Broken(Lake):
    """A lake that refuses to append for a while."""

    refuses = True

    def append(
        self, table: Table, frame: pl.DataFrame, tokens: Mapping[str, int] | None = None
    ) -> int:
        if self.refuses:
            raise LakeError(f"{table.name}: no space left on device")
        return super().append(table, frame, tokens)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(LakeSettings(uri=str(tmp_path / "lake")))


def fixed(*sources: Script) -> Plan:
    """Return a plan of sources that a test made."""
    return Plan(lambda: sources)


def serve(service: Service, until: threading.Event) -> None:
    """Run a service in a thread and stop it."""
    thread = threading.Thread(target=service.run)
    thread.start()
    until.wait(60)
    service.stop()
    thread.join(60)
    assert not thread.is_alive()


def polls(source: Script, count: int) -> threading.Event:
    """Return an event that is set once a source was polled so often."""
    reached = threading.Event()

    def watch() -> None:
        deadline = time.monotonic() + 10
        while len(source.begun) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        reached.set()

    threading.Thread(target=watch, daemon=True).start()
    return reached


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
        source.recalled = [Recall("brokers", only={"host": source.name})]
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


class Counted:
    """A plan whose sources are made anew each time, as those of settings are."""

    def __init__(self, *clusters: str) -> None:
        self.made: list[Script] = []
        self._clusters = clusters

    def __call__(self) -> list[Script]:
        new = [Script(cluster) for cluster in self._clusters]
        self.made += new
        return new


@contextmanager
def running(service: Service) -> Iterator[None]:
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        yield
    finally:
        service.stop()
        thread.join(60)
        assert not thread.is_alive()


def of(service: Service, cluster: str = "shop") -> ClusterState:
    return service.clusters()[cluster]


def test_of_two_services_one_polls_and_a_clean_stop_hands_over(
    lake: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Script("shop"), Script("shop")
    waiting = Service(fixed(second), lake)
    with caplog.at_level("INFO"):
        with running(Service(fixed(first), lake)):
            polls(first, 1).wait(60)
            with running(waiting):
                eventually(lambda: of(waiting).waits_for is not None, what="waiting")
                polls(first, 6).wait(60)
                assert second.begun == []
            assert second.begun == []
        follows = Script("shop")
        with running(Service(fixed(follows), lake)):
            given_back = time.monotonic()
            polls(follows, 2).wait(60)
            assert follows.begun[0] - given_back < 5
    assert caplog.text.count("waits: ") == 1
    assert follows.remembered["brokers"]["broker_id"].sort().to_list() == [1, 2]


def test_who_lost_its_lease_writes_no_more_and_waits(lake: Lake) -> None:
    """Given a service whose lease was taken, when it polls on, then none of that is written."""
    plan = Counted("shop")
    service = Service(Plan(plan), lake)
    with running(service):
        source = plan.made[0]
        polls(source, 2).wait(60)
        write_lease(lake, holder="elsewhere/7/0", state="held")
        taken_at = datetime.now(UTC)
        eventually(lambda: source.closed.is_set(), what="end of the polls", timeout_seconds=20)
        assert not of(service).active
        late = lake.read(BROKERS).filter(pl.col("observed_at") > taken_at + timedelta(seconds=3))
        assert late.is_empty()
        assert of(service).waits_for == "elsewhere/7"
        write_lease(lake, state="free")
        eventually(lambda: of(service).active, what="lease taken again", timeout_seconds=20)
        again = plan.made[-1]
        polls(again, 1).wait(60)
        assert again is not source
        assert again.remembered.keys() == {"brokers"}


def write_lease(lake: Lake, **properties: str) -> None:
    """Write a cluster's lease as another process would, whoever holds it."""
    handle = DeltaTable(f"{lake.checkpoints_uri}/collectors/shop.lease")
    named = {f"headroom.{name}": value for name, value in properties.items()}
    while True:
        with suppress(CommitFailedError):
            handle.update_incremental()
            handle.alter.set_table_properties(named, raise_if_not_exists=False)
            return


def test_what_changed_is_polled_anew_and_the_rest_untouched(lake: Lake) -> None:
    first = Counted("shop", "other", "gone")
    specs: dict[tuple[str, str], object] = {("shop", "script"): 1, ("other", "script"): 1}
    snapshots = Snapshots()
    service = Service(Plan(first, specs), lake, snapshots)
    shop, other, gone = first.made
    with running(service):
        for source in first.made:
            polls(source, 1).wait(60)
        second = Counted("shop", "other", "new")
        service.apply(Plan(second, {**specs, ("shop", "script"): 2}))
        changed, unused, new = second.made
        polls(changed, 1).wait(60)
        polls(new, 1).wait(60)
        assert shop.closed.is_set()
        assert unused.closed.is_set()
        eventually(gone.closed.is_set, what="end of what is gone")
        assert not other.closed.is_set()
        count = len(other.begun)
        polls(other, count + 2).wait(60)
        assert len(other.begun) >= count + 2
        assert unused.begun == []
        assert [state.cluster for state in snapshots.states()] == ["shop", "other", "new"]
        assert service.clusters().keys() == {"shop", "other", "new"}
        assert service.dead_threads() == []


def test_settings_that_cannot_work_change_nothing(lake: Lake) -> None:
    plan = Counted("shop")
    service = Service(Plan(plan), lake)

    def fail() -> list[Script]:
        raise SettingsError("cluster shop: properties: no such property")

    with running(service):
        polls(plan.made[0], 1).wait(60)
        with pytest.raises(SettingsError):
            service.apply(Plan(fail))
        count = len(plan.made[0].begun)
        polls(plan.made[0], count + 2).wait(60)
        assert len(plan.made[0].begun) >= count + 2


@pytest.mark.parametrize("interval", [1.0, 8.0, 15.0, 30.0, 300.0])
def test_a_process_that_died_is_replaced_within_two_polls(interval: float) -> None:
    """The wait, a quarter of a beat to notice it, and two seconds to take it."""
    kept = rhythm(interval)
    assert kept.expiry_seconds >= 3 * kept.beat_seconds
    if interval >= 8.0:
        assert kept.expiry_seconds + kept.beat_seconds / 4 + 2 <= 2 * interval
