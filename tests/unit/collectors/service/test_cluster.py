"""Clusters under their leases, and settings that change while a service runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError

from collectors.errors import SettingsError
from collectors.service.cluster import ClusterState, rhythm
from collectors.service.polling import Plan, Service
from collectors.service.rows import own_name
from collectors.service.snapshot import Snapshots
from lake.schemas.tables import BROKERS, WAITING_COLLECTORS
from lake.storage.store import Lake
from tests.support import eventually
from tests.unit.collectors.service.scripted import Script, fixed, polls


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
                (row,) = lake.read(WAITING_COLLECTORS, cluster="shop").to_dicts()
                # Both are services of this process.
                assert row["collector"] == row["waits_for"] == own_name()
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
    service = Service(Plan(make=plan), lake)
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
        # The sources are made after the lease is taken.
        eventually(lambda: plan.made[-1] is not source, what="sources anew", timeout_seconds=20)
        again = plan.made[-1]
        polls(again, 1).wait(60)
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
    service = Service(Plan(make=first, specs=specs), lake, snapshots)
    shop, other, gone = first.made
    with running(service):
        for source in first.made:
            polls(source, 1).wait(60)
        second = Counted("shop", "other", "new")
        service.apply(Plan(make=second, specs={**specs, ("shop", "script"): 2}))
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
    service = Service(Plan(make=plan), lake)

    def fail() -> list[Script]:
        raise SettingsError("cluster shop: properties: no such property")

    with running(service):
        polls(plan.made[0], 1).wait(60)
        with pytest.raises(SettingsError):
            service.apply(Plan(make=fail))
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
