from __future__ import annotations

from prometheus_client import generate_latest

from collectors.exporter.exporter import unready
from collectors.exporter.live import live_registry
from collectors.service.cluster import ClusterState
from collectors.service.snapshot import POLL, Snapshots
from collectors.service.writer import WriterState
from tests.unit.collectors.exporter.frames import (
    NOW,
    Clock,
    Labels,
    Named,
    frame,
    result,
    samples,
    series,
)

SHOP, MAIN = Named(), Named(cluster="shop", name="connect/main", interval_seconds=5.0)
CLUSTERS = {"shop": ClusterState(active=True)}
WRITING = WriterState(written_rows=12, lost_rows=3, waiting_bytes=400, losing_because=None)


def snapshots(clock: Clock) -> Snapshots:
    known = Snapshots([SHOP, MAIN], clock)  # type: ignore[list-item]
    known.take(SHOP, result("groups", "partial", groups=frame("groups", {"group": "a"})))  # type: ignore[arg-type]
    known.take(SHOP, result("brokers", "failed"))  # type: ignore[arg-type]
    known.take(SHOP, result(POLL, "skipped"))  # type: ignore[arg-type]
    known.poll_ended(SHOP)  # type: ignore[arg-type]
    return known


def found_in(known: Snapshots, *, kminion: bool = False) -> dict[str, dict[Labels, float]]:
    registry = live_registry(
        known, lambda: WRITING, lambda: CLUSTERS, lambda: "unknown key", kminion=kminion
    )
    return samples(generate_latest(registry).decode())


def test_how_collecting_goes() -> None:
    clock = Clock()
    known = snapshots(clock)
    clock.now += 7
    found = found_in(known)
    groups, brokers = ("shop", "groups", "kafka"), ("shop", "brokers", "kafka")
    assert series("headroom_poll_interval_seconds", found) == {
        ("shop", "kafka"): 10,
        ("shop", "connect/main"): 5,
    }
    # The other one was never polled: no age, and not an age of 0.
    assert series("headroom_poll_age_seconds", found) == {("shop", "kafka"): 7}
    assert series("headroom_collection_status", found) == {
        (*groups, "ok"): 0,
        (*groups, "partial"): 1,
        (*groups, "failed"): 0,
        (*brokers, "ok"): 0,
        (*brokers, "partial"): 0,
        (*brokers, "failed"): 1,
    }
    assert series("headroom_collection_duration_seconds", found)[groups] == 0.25
    assert series("headroom_collection_rows", found) == {groups: 1, brokers: 0}
    assert series("headroom_collection_age_seconds", found) == {groups: 7.25}
    success = series("headroom_collection_last_success_timestamp_seconds", found)
    assert success == {groups: NOW.timestamp()}
    assert series("headroom_collections_total", found) == {
        (*groups, "partial"): 1,
        (*brokers, "failed"): 1,
        ("shop", "poll", "kafka", "skipped"): 1,
    }


def test_what_became_of_the_rows() -> None:
    found = found_in(snapshots(Clock()))
    assert series("headroom_lake_rows_written_total", found) == {(): 12}
    assert series("headroom_lake_rows_lost_total", found) == {(): 3}
    assert series("headroom_lake_waiting_bytes", found) == {(): 400}
    assert series("process_resident_memory_bytes", found)[()] > 1_000_000


def test_kminions_own_metric_says_whether_something_failed() -> None:
    known = snapshots(Clock())
    assert series("kminion_exporter_up", found_in(known, kminion=True)) == {("headroom",): 0}
    known.take(SHOP, result("brokers"))  # type: ignore[arg-type]
    assert series("kminion_exporter_up", found_in(known, kminion=True)) == {("headroom",): 1}
    assert "kminion_exporter_up" not in found_in(known)


def test_ready_once_all_were_polled() -> None:
    clock = Clock()
    known = snapshots(clock)
    (reason,) = unready(known.states(), clock.now, WRITING, CLUSTERS)
    assert reason == "cluster shop, source connect/main: not polled yet"
    known.poll_ended(MAIN)  # type: ignore[arg-type]
    assert unready(known.states(), clock.now, WRITING, CLUSTERS) == []


def test_not_ready_when_a_poll_does_not_end() -> None:
    clock = Clock()
    known = snapshots(clock)
    known.poll_ended(MAIN)  # type: ignore[arg-type]
    assert unready(known.states(), clock.now + 15, WRITING, CLUSTERS) == []
    (reason,) = unready(known.states(), clock.now + 16, WRITING, CLUSTERS)
    assert reason == (
        "cluster shop, source connect/main: the last poll ended 16 s ago, it is due every 5 s"
    )


def test_not_ready_while_rows_are_lost() -> None:
    clock = Clock()
    known = snapshots(clock)
    known.poll_ended(MAIN)  # type: ignore[arg-type]
    losing = WriterState(
        written_rows=0, lost_rows=9, waiting_bytes=0, losing_because="no space left on device"
    )
    (reason,) = unready(known.states(), clock.now, losing, CLUSTERS)
    assert reason == "rows are being lost: no space left on device"


def test_whether_this_process_polls_and_follows_its_settings() -> None:
    found = found_in(snapshots(Clock()))
    assert series("headroom_collector_active", found) == {("shop",): 1}
    assert series("headroom_settings_in_effect", found) == {(): 0}


def test_who_waits_for_another_process_is_ready_and_who_cannot_wait_is_not() -> None:
    clock = Clock()
    known = Snapshots([SHOP], clock)  # type: ignore[list-item]
    waits = {"shop": ClusterState(waits_for="host/7")}
    assert unready(known.states(), clock.now, WRITING, waits) == []
    stuck = {"shop": ClusterState(problem="the lease cannot be taken: no bucket")}
    assert "cluster shop: the lease cannot be taken: no bucket" in unready(
        known.states(), clock.now, WRITING, stuck
    )


def test_events_of_several_sources_of_a_cluster_are_added_up() -> None:
    known = Snapshots([SHOP, MAIN], Clock())  # type: ignore[list-item]
    for source, kinds in ((SHOP, ["acl changed"]), (MAIN, ["acl changed", "feature changed"])):
        rows = frame("cluster_events", *({"kind": kind, "subject": "a"} for kind in kinds))
        known.take(source, result("any", cluster_events=rows))  # type: ignore[arg-type]
    assert series("headroom_cluster_events_total", found_in(known)) == {
        ("shop", "acl changed"): 2,
        ("shop", "feature changed"): 1,
    }


def test_rebalances_are_counted_by_group() -> None:
    known = Snapshots([SHOP], Clock())  # type: ignore[list-item]
    for groups in (["billing", "billing"], ["billing", "mail"], []):
        rows = frame("rebalances", *({"group": group, "log_offset": 1} for group in groups))
        known.take(SHOP, result("commit_log", rebalances=rows))  # type: ignore[arg-type]
    assert series("headroom_group_rebalances_total", found_in(known)) == {
        ("shop", "billing"): 3,
        ("shop", "mail"): 1,
    }
