"""What checks see in rows of the lake, and what is not known."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from alerting.evaluate.observations import CheckedCluster, evaluate_cluster, group_statuses, observe
from alerting.evaluate.status_history import GroupMemory
from alerting.inputs.frames import Frames
from alerting.inputs.lake_rows import read_range
from alerting.inputs.windows import GroupKey
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.status.model import GroupStatus, LagNumbers, Status
from alerting.tools.replay import replay
from config.settings import LakeSettings
from lake.schemas.model import Table
from lake.schemas.tables import (
    BROKERS,
    COLLECTIONS,
    CONNECTORS,
    DEAD_LETTERS,
    GROUP_OFFSETS,
    GROUPS,
    PARTITIONS,
    QUEUES,
)
from lake.storage.store import Lake

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
SECTIONS = ("brokers", "partitions", "groups", "group_offsets", "dead_letters")


def rows(table: Table, *given: dict[str, Any], seconds_ago: float = 0.0) -> pl.DataFrame:
    at = NOW - timedelta(seconds=seconds_ago)
    common = {"cluster": "c", "observed_at": at, "poll_id": at.isoformat()}
    full = [{name: None for name in table.polars_schema} | common | one for one in given]
    return pl.DataFrame(full, schema=table.polars_schema)


def collected(
    *, seconds_ago: float = 0.0, status: str = "ok", source: str = "kafka", interval: float = 15.0
) -> Any:
    sections = [
        {
            "source": source,
            "section": name,
            "status": status,
            "interval_seconds": interval,
            "error": None if status == "ok" else "not authorised",
        }
        for name in SECTIONS
    ]
    return rows(COLLECTIONS, *sections, seconds_ago=seconds_ago)


def look(
    *frames: tuple[Table, pl.DataFrame], collections: pl.DataFrame | None = None
) -> CheckedCluster:
    tables = {table.name: frame for table, frame in frames}
    tables["collections"] = collected() if collections is None else collections
    return observe(Frames(cluster="c", now=NOW.timestamp(), tables=tables))


def found(seen: CheckedCluster) -> dict[str, dict[str, str]]:
    """Return the rules that are true, with the labels of what they are true of."""
    evaluation = evaluate_cluster(DEFAULT_ALERT_RULES, seen, "c")
    return {
        one.rule.name: {k: v for k, v in one.observation.labels.items() if k != "cluster"}
        for one in evaluation.findings
    }


def test_brokers_and_replication() -> None:
    partition = {"topic": "t", "replicas": [1, 2, 3], "min_in_sync_replicas": 2, "leader": 1}
    seen = look(
        (
            BROKERS,
            rows(
                BROKERS,
                {"broker_id": 1, "is_alive": True, "is_controller": False},
                {"broker_id": 2, "is_alive": False, "is_controller": False},
                {
                    "broker_id": 3,
                    "is_alive": True,
                    "is_controller": False,
                    "disk_total_bytes": 100,
                    "disk_free_bytes": 4,
                },
            ),
        ),
        (
            PARTITIONS,
            rows(
                PARTITIONS,
                {**partition, "partition": 0, "in_sync_replicas": [1], "preferred_leader": 2},
                {**partition, "topic": "u", "partition": 0, "in_sync_replicas": [], "leader": None},
            ),
        ),
    )
    assert found(seen) == {
        "BrokerMissing": {"broker": "2"},
        "NoController": {},
        "DiskSpaceLow": {"broker": "3"},
        "DiskAlmostFull": {"broker": "3"},
        "PartitionsOffline": {"topic": "u"},
        "UnderMinIsr": {"topic": "u"},
        "UnderReplicated": {"topic": "u"},
        "LeaderImbalance": {},
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param([(0, 0.0), (0, 0.0)], False, id="nothing arrives"),
        pytest.param([(0, 0.0), (5, 0.02)], True, id="two in a hundred fail"),
        pytest.param([(0, 0.0), (5, 0.0004)], False, id="a few in ten thousand"),
        pytest.param([(0, None), (5, None)], True, id="of an unknown origin"),
        pytest.param([(5, None), (5, None)], False, id="unknown origin, nothing arrives"),
    ],
)
def test_dead_letters_that_arrive(given: list[tuple[int, float | None]], expected: bool) -> None:
    frame = pl.concat(
        rows(
            DEAD_LETTERS,
            {"source": "kafka", "name": "t.dlq", "log_end": end, "arrival_ratio": ratio},
            seconds_ago=15.0 * (len(given) - 1 - index),
        )
        for index, (end, ratio) in enumerate(given)
    )
    assert ("DeadLettersArriving" in found(look((DEAD_LETTERS, frame)))) is expected


def test_an_exception_class_is_new_only_where_there_is_an_earlier_time() -> None:
    def letters(seconds_ago: float, *classes: str) -> pl.DataFrame:
        reasons = [{"key": name, "value": 3} for name in classes]
        one = {"source": "kafka", "name": "t.dlq", "log_end": 5, "reasons": reasons}
        return rows(DEAD_LETTERS, one, seconds_ago=seconds_ago)

    young = letters(0, "a.ValueError")
    assert "DeadLetterNewReason" not in found(look((DEAD_LETTERS, young)))
    known = pl.concat([letters(7200, "a.ValueError"), letters(0, "a.ValueError")])
    assert "DeadLetterNewReason" not in found(look((DEAD_LETTERS, known)))
    new = pl.concat([letters(7200, "a.ValueError"), letters(0, "a.ValueError", "b.KeyError")])
    seen = look((DEAD_LETTERS, new))
    assert found(seen)["DeadLetterNewReason"] == {"source": "kafka", "name": "t.dlq"}


@pytest.mark.parametrize(
    ("kind", "expected"), [("connect", "Kafka Connect"), ("plain", "Start its consumers")]
)
def test_an_alert_of_a_stopped_group_says_who_starts_it(kind: str, expected: str) -> None:
    key = GroupKey("demo", "connect-export")
    now = NOW.timestamp()
    status = GroupStatus(
        status=Status.STOPPED,
        reason="Nobody consumes.",
        since=now - 300,
        began_before_window=False,
        numbers=LagNumbers(lag=5),
        unknown_partitions=0,
        partitions=(),
    )

    frame = rows(GROUPS, {"group": "connect-export", "members": 0, "kind": kind})
    frames = Frames(cluster="demo", now=now, tables={"groups": frame, "collections": collected()})

    seen = observe(frames, "stopped", lambda _: {key: status}).observations

    reported = {one.what: one.step for one in seen if one.check == "stopped"}
    assert expected in reported["connect-export stopped"]


def test_connectors_and_queues() -> None:
    connector = {"connect": "k", "connector": "sink", "state": "RUNNING", "tasks_failed": 2}
    queue = {"vhost": "/", "queue": "q", "kind": "plain", "ready": 7, "unacknowledged": 0}
    seen = look(
        (CONNECTORS, rows(CONNECTORS, {**connector, "error": "java.lang.X: boom"})),
        (
            QUEUES,
            rows(QUEUES, {**queue, "consumers": 0, "dead_letter_target_missing": True}),
        ),
    )
    assert found(seen) == {
        "ConnectorTasksFailed": {"connect": "k", "connector": "sink"},
        "QueueDeadLettersLost": {"vhost": "/", "queue": "q"},
        "QueueWithoutConsumers": {"vhost": "/", "queue": "q"},
    }
    reported = [one for one in seen.observations if one.check == "tasks_failed"]
    assert reported[0].detail == "java.lang.X: boom."


def test_the_monitor_watches_itself() -> None:
    failed = found(look(collections=collected(status="failed")))
    assert {"CollectionFailed", "DataStale", "NothingCollected"} <= failed.keys()
    late = look(collections=collected(seconds_ago=61))
    assert late.has_no_data
    assert {"DataStale", "NothingCollected"} <= found(late).keys()
    assert "NothingCollected" not in found(look(collections=collected(seconds_ago=59)))


def test_a_monitor_that_has_just_started_gives_the_collectors_time() -> None:
    tables = {"collections": collected(seconds_ago=900)}
    just_started = Frames(
        cluster="c",
        now=NOW.timestamp(),
        tables=tables,
        errors={},
        watched_since=NOW.timestamp() - 30,
    )
    assert found(observe(just_started)) == {}
    still_late = dataclasses.replace(just_started, watched_since=NOW.timestamp() - 61)
    assert {"DataStale", "NothingCollected"} <= found(observe(still_late)).keys()


def test_a_restart_during_an_outage_leaves_its_alerts_as_they_are() -> None:
    tables = {"collections": collected(seconds_ago=900)}
    seen = observe(
        Frames(
            cluster="c",
            now=NOW.timestamp(),
            tables=tables,
            errors={},
            watched_since=NOW.timestamp() - 30,
        )
    )
    values = {one.check: one.value for one in seen.observations}
    assert values["nothing_collected"] is None
    assert values["data_stale"] is None


@pytest.mark.parametrize(("watched", "expected"), [(59.0, False), (61.0, True)])
def test_what_never_worked_is_given_a_minute_to_start(watched: float, expected: bool) -> None:
    tables = {"collections": collected(status="failed", interval=5.0)}
    seen = observe(
        Frames(
            cluster="c",
            now=NOW.timestamp(),
            tables=tables,
            errors={},
            watched_since=NOW.timestamp() - watched,
        )
    )
    assert ("NothingCollected" in found(seen)) is expected
    assert ("DataStale" in found(seen)) is expected


def test_rows_that_are_missing_make_their_checks_unknown() -> None:
    old = rows(BROKERS, {"broker_id": 1, "is_alive": False}, seconds_ago=300)
    seen = look((BROKERS, old))
    nothing = [one.value for one in seen.observations if one.check == "broker_missing"]
    assert nothing == [None]
    assert "BrokerMissing" not in found(seen)


def written(lake: Lake, at: datetime, *, frozen: bool, reads_offsets: bool = True) -> None:
    """Write a poll of a group of two partitions, the first of which may be frozen."""
    ago = (NOW - at).total_seconds()
    count = int((at - NOW).total_seconds()) + 100_000
    lake.append(COLLECTIONS, collected(seconds_ago=ago))
    group = {"group": "g", "state": "stable", "members": 1}
    if not reads_offsets:
        group["unknown_reason"] = "not authorised"
    lake.append(GROUPS, rows(GROUPS, group, seconds_ago=ago))
    if not reads_offsets:
        return
    offsets = [
        {
            "group": "g",
            "topic": "t",
            "partition": number,
            "log_start": 0,
            "log_end": count * 10,
            "committed": 995_495 if frozen and number == 0 else count * 10 - 5,
            "lag": count * 10 - 995_495 if frozen and number == 0 else 5,
            "time_lag_seconds": 0.5,
            "member_id": "m",
        }
        for number in (0, 1)
    ]
    lake.append(GROUP_OFFSETS, rows(GROUP_OFFSETS, *offsets, seconds_ago=ago))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    for tick in range(40):
        at = NOW - timedelta(seconds=15 * (39 - tick))
        written(made, at, frozen=tick >= 10)
    return made


def test_a_memory_says_what_the_rows_say(lake: Lake) -> None:
    memory = GroupMemory(lake)
    key = GroupKey("c", "g")
    full = read_range(lake, "c", NOW.timestamp(), NOW.timestamp())
    assert memory.statuses(full)[key].status == group_statuses(full)[key].status == "STALLED"
    for tick in range(1, 4):
        at = NOW + timedelta(seconds=15 * tick)
        written(lake, at, frozen=True)
        frames = read_range(lake, "c", at.timestamp(), at.timestamp())
        assert memory.statuses(frames)[key].status == "STALLED"
    assert memory.newest_at("c") == at.timestamp()


def test_a_group_that_cannot_be_read_is_unknown_and_not_gone(lake: Lake) -> None:
    memory = GroupMemory(lake)
    memory.statuses(read_range(lake, "c", NOW.timestamp(), NOW.timestamp()))
    at = NOW
    for tick in range(1, 12):
        at = NOW + timedelta(seconds=15 * tick)
        written(lake, at, frozen=True, reads_offsets=False)
    frames = read_range(lake, "c", at.timestamp(), at.timestamp())
    assert memory.statuses(frames)[GroupKey("c", "g")].status == "UNKNOWN"


def test_a_replay_tells_when_and_for_how_long(lake: Lake) -> None:
    replayed = replay(
        lake,
        "c",
        DEFAULT_ALERT_RULES,
        (NOW - timedelta(seconds=585)).timestamp(),
        NOW.timestamp(),
        interval_seconds=15.0,
    )
    assert replayed.evaluations == 40
    (alert,) = [one for one in replayed.alerts if one.rule == "GroupStalled"]
    assert alert.resolved_at is None
    frozen_at = (NOW - timedelta(seconds=15 * 29)).timestamp()
    assert frozen_at < (alert.fired_at or 0.0) <= frozen_at + 120
    assert replayed.messages >= 1


def test_after_a_restart_the_past_is_read_from_the_lake(tmp_path: Path) -> None:
    """A job ran an hour ago, read everything and left: what waits now is for its next run."""
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    written_rows: dict[Table, list[pl.DataFrame]] = {GROUPS: [], COLLECTIONS: [], GROUP_OFFSETS: []}
    for minute in range(100):
        runs, end, ago = 30 <= minute < 40, 1000 * minute, 60.0 * (99 - minute)
        read = 0 if minute < 30 else min(end, 39_000)
        group = {"group": "g", "members": int(runs), "state": "stable" if runs else "empty"}
        offsets = {
            "group": "g",
            "topic": "t",
            "partition": 0,
            "log_start": 0,
            "log_end": end,
            "committed": read,
            "lag": end - read,
            "member_id": "m" if runs else None,
        }
        written_rows[GROUPS].append(rows(GROUPS, group, seconds_ago=ago))
        written_rows[COLLECTIONS].append(collected(seconds_ago=ago))
        written_rows[GROUP_OFFSETS].append(rows(GROUP_OFFSETS, offsets, seconds_ago=ago))
    for table, found in written_rows.items():
        lake.append(table, pl.concat(found))
    frames = read_range(lake, "c", NOW.timestamp(), NOW.timestamp())
    key = GroupKey("c", "g")

    assert group_statuses(frames)[key].status == "STOPPED"
    status = GroupMemory(lake).statuses(frames)[key]
    assert status.status == "OK"
    assert status.reason.startswith("Between runs")
