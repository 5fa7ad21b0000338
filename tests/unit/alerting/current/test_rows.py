"""The tables of the present say what the alerts say, and since when does not move."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from alerting.__main__ import app
from alerting.current.groups import group_rows, partition_lag
from alerting.current.rows import alert_rows, current_rows
from alerting.current.state import EvaluationInMemory, Present
from alerting.evaluate.evaluation import ClusterEvaluation, ClusterEvaluator, advanced
from alerting.evaluate.observations import Seen, group_observations, observe
from alerting.inputs.frames import Frames
from alerting.inputs.polls import PARTITION_LAG
from alerting.inputs.windows import GroupKey
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.lifecycle import Alert, State
from alerting.service import SERVICE, AlertingService
from alerting.status.model import GroupStatus, Status
from alerting.tools.benchmark.headroom import statuses
from config.alerting import AlertingSettings
from config.settings import ClusterSettings, LakeSettings, Settings
from lake.schemas.current import (
    BROKER_STATUS,
    CLUSTER_STATUS,
    CURRENT_TABLES,
    GROUP_PARTITION_STATUS,
    GROUP_STATUS,
    OPEN_ALERTS,
    PARTITIONS_AT_RISK,
    READERS,
    RECENT_CHANGES,
    TOPIC_STATUS,
)
from lake.schemas.model import Table
from lake.schemas.tables import (
    BROKERS,
    COLLECTIONS,
    DEAD_LETTERS,
    GROUP_OFFSETS,
    GROUPS,
    PARTITIONS,
    TOPICS,
)
from lake.storage.current_store import CurrentStore
from lake.storage.store import Lake
from simulation.scenarios import families
from tests.selection import exhaustive
from tests.unit.alerting.inputs.test_recent_rows import BEGIN, POLL, POLLS, Collector

NOW = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
_TROUBLE = ("stopped", "stalled", "falling_behind", "rewound", "losing_data", "unknown")


def rows(table: Table, *given: dict[str, Any], ago: float = 0.0) -> pl.DataFrame:
    at = NOW - timedelta(seconds=ago)
    common = {"cluster": "c", "observed_at": at, "poll_id": at.isoformat(), "date": at.date()}
    full = [{name: None for name in table.polars_schema} | common | one for one in given]
    return pl.DataFrame(full, schema=table.polars_schema)


def classified(
    status: GroupStatus,
    at: float,
    *,
    group: str = "g",
    tables: dict[str, pl.DataFrame] | None = None,
) -> ClusterEvaluation:
    frames = Frames(cluster="c", now=at, tables=tables or {})
    found = {GroupKey("c", group): status}
    seen = Seen(observations=tuple(group_observations(found, now=at)))
    nothing = pl.DataFrame(schema=PARTITION_LAG)
    return ClusterEvaluation(frames=frames, statuses=found, clear_partitions=nothing, seen=seen)


@pytest.mark.parametrize(
    ("family", "variant"),
    [  # Polls of a minute; of a quarter of one.
        ("frequent_job_gone", 7),
        ("poison_partition", 4),
        *exhaustive(("frequent_job_gone", 0), ("poison_partition", 0)),
    ],
)
def test_at_every_poll_the_rows_say_what_the_alerts_say(family: str, variant: int) -> None:
    scenario = families()[family](variant)
    alerts: dict[str, Alert] = {}
    previous: pl.DataFrame | None = None
    dates: set[datetime] = set()
    changes = 0
    for at, status in statuses(scenario):
        moment = NOW.timestamp() + at
        found = classified(_shifted(status), moment)
        alerts = advanced(alerts, found, DEFAULT_ALERT_RULES)
        groups = group_rows(found, partition_lag(found), previous)
        reported = alert_rows(alerts.values(), groups, found.frames)
        (row,) = groups.iter_rows(named=True)
        true_now = {
            alert.status
            for alert in alerts.values()
            if alert.check in _TROUBLE and alert.last_true_at == moment
        }
        is_told = status.status.value.lower() in _TROUBLE and (
            status.status is not Status.FALLING_BEHIND or status.is_lasting
        )
        assert row["status"] == status.status.value
        assert true_now == ({row["status"]} if is_told else set()), at
        assert set(reported["fingerprint"]) == {
            name for name, alert in alerts.items() if alert.state is not State.RESOLVED
        }
        if previous is None or previous["status"].item() != row["status"]:
            changes, dates = changes + 1, set()
        dates.add(row["since"])
        assert len(dates - {None}) == 1, at
        previous = groups.with_columns(pl.lit(found.frames.at).alias("evaluated_at"))
    assert changes > 1


def _shifted(status: GroupStatus) -> GroupStatus:
    """Return a status of a scenario, whose seconds begin at zero, with dates of the present."""
    begin = NOW.timestamp()
    parts = tuple(
        dataclasses.replace(part, since=None if part.since is None else begin + part.since)
        for part in status.partitions
    )
    since = None if status.since is None else begin + status.since
    return dataclasses.replace(status, since=since, partitions=parts)


def fixed(status: Status, since: float | None, *, began_before: bool = False) -> GroupStatus:
    return dataclasses.replace(
        judged_status, status=status, since=since, began_before_window=began_before
    )


judged_status = statuses(families()["steady"](0))[0][1]


def since_of(
    steps: list[tuple[float, Status, float | None]],
) -> list[tuple[float | None, bool]]:
    """Return since when each step's row says that its status holds, seconds from the first."""
    previous: dict[Table, pl.DataFrame] = {}
    reported = []
    for at, status, since in steps:
        begin = NOW.timestamp()
        found = classified(fixed(status, None if since is None else begin + since), begin + at)
        previous = dict(current_rows(found, (), previous))
        (row,) = previous[GROUP_STATUS].iter_rows(named=True)
        reported.append(((row["since"] - NOW).total_seconds(), row["since_at_least"]))
    return reported


def test_since_stays_while_the_status_does() -> None:
    reported = since_of(
        [
            (0, Status.OK, None),
            (15, Status.OK, None),
            (30, Status.STALLED, 12),
            (45, Status.STALLED, 20),
            (60, Status.STALLED, 5),
            (75, Status.OK, None),
            (90, Status.OK, None),
        ]
    )
    assert reported == [
        (0, True),
        (0, True),
        (12, False),
        (12, False),
        (12, False),
        (75, False),
        (75, False),
    ]


def test_after_a_break_nobody_knows_whether_the_status_held() -> None:
    reported = since_of(
        [(0, Status.STALLED, -60), (299, Status.STALLED, 5), (700, Status.STALLED, 650)]
    )
    assert reported == [(-60, False), (-60, False), (650, False)]


def watched(lake: Lake, evaluator: ClusterEvaluator, present: Present, now: datetime) -> None:
    found = evaluator.evaluate("c", now.timestamp())
    alerts = advanced({}, found, DEFAULT_ALERT_RULES)
    present.write(found, alerts)


def test_since_stays_over_a_restart(tmp_path: Path) -> None:
    settings = LakeSettings(uri=str(tmp_path / "lake"))
    lake, store = Lake(settings), CurrentStore(settings)
    collector = Collector(lake, 11)
    evaluator, present = ClusterEvaluator(lake, watched_since=0.0), Present(store)
    reported: dict[str, dict[tuple[object, ...], tuple[str, datetime]]] = {}
    kept = 0
    restart = POLLS - 3
    for number in range(POLLS):
        now = collector.poll(number) + timedelta(seconds=3)
        if number < 10:
            continue
        if number == restart:
            evaluator, present = ClusterEvaluator(lake, watched_since=0.0), Present(store)
        watched(lake, evaluator, present, now)
        for table, key in (
            (GROUP_STATUS, ("group",)),
            (GROUP_PARTITION_STATUS, ("group", "topic", "partition")),
        ):
            written = store.read(table, "c")
            assert written is not None
            before = reported.get(table.name, {})
            reported[table.name] = {
                tuple(row[one] for one in key): (row["status"], row["since"])
                for row in written.iter_rows(named=True)
            }
            for name, (status, since) in reported[table.name].items():
                status_before, since_before = before.get(name, (None, None))
                if status_before == status:
                    assert since_before == since, (number, name, status)
                    kept += number == restart
    assert kept >= 3


def test_every_table_tells_what_the_samples_show() -> None:
    group = {"group": "g", "members": 3, "idle_members": 1, "kind": "plain", "state": "stable"}
    partition = {"replicas": [1, 2, 3], "min_in_sync_replicas": 2, "leader": 1, "log_start": 0}
    tables: dict[Table, list[pl.DataFrame]] = {
        table: []
        for table in (GROUPS, GROUP_OFFSETS, PARTITIONS, BROKERS, COLLECTIONS, TOPICS, DEAD_LETTERS)
    }
    tables[TOPICS].append(
        rows(
            TOPICS,
            {
                "topic": "t",
                "kind": "application",
                "retention_seconds": 3600.0,
                "cleanup_policy": "delete",
            },
            {"topic": "gone"},
            ago=900,
        )
    )
    for tick in range(41):
        ago = 15.0 * (40 - tick)
        end = 1000 * tick
        offsets = {"group": "g", "topic": "t", "log_start": 0, "member_id": "m"}
        tables[GROUPS].append(rows(GROUPS, group, ago=ago))
        tables[GROUP_OFFSETS].append(
            rows(
                GROUP_OFFSETS,
                {**offsets, "partition": 0, "committed": end, "log_end": end, "lag": 0},
                {**offsets, "partition": 1, "committed": 5, "log_end": 5, "lag": 0},
                ago=ago,
            )
        )
        tables[PARTITIONS].append(
            rows(
                PARTITIONS,
                {
                    **partition,
                    "topic": "t",
                    "partition": 0,
                    "log_end": end,
                    "size_bytes": 9,
                    "in_sync_replicas": [1],
                    "preferred_leader": 1,
                },
                {
                    **partition,
                    "topic": "t",
                    "partition": 1,
                    "log_end": 5,
                    "size_bytes": 1,
                    "in_sync_replicas": [1, 2, 3],
                    "preferred_leader": 3,
                },
                ago=ago,
            )
        )
        tables[BROKERS].append(
            rows(
                BROKERS,
                {"broker_id": 1, "is_alive": True, "is_controller": True},
                {"broker_id": 2, "is_alive": tick < 20, "is_controller": False},
                ago=ago,
            )
        )
        tables[COLLECTIONS].append(
            rows(
                COLLECTIONS,
                {"source": "kafka", "section": "groups", "status": "ok", "interval_seconds": 15.0},
                ago=ago,
            )
        )
    letters = {"source": "kafka", "name": "t.dlq"}
    tables[DEAD_LETTERS] = [
        rows(DEAD_LETTERS, {**letters, "log_end": 30 - ago}, ago=ago) for ago in (30, 15, 0)
    ]
    frames = Frames(
        cluster="c",
        now=NOW.timestamp(),
        tables={table.name: pl.concat(given) for table, given in tables.items()},
    )
    evaluator = ClusterEvaluator(Lake(LakeSettings(uri="memory-only")), watched_since=0.0)
    found = evaluator.evaluate_frames(frames)
    alerts = advanced({}, found, DEFAULT_ALERT_RULES)
    written = current_rows(found, alerts.values(), {})

    assert set(written) == set(CURRENT_TABLES)
    for table, frame in written.items():
        assert frame.schema == table.polars_schema
        assert frame.unique(table.key).height == frame.height
    (status,) = written[GROUP_STATUS].iter_rows(named=True)
    assert status["status"] == "OK"
    assert status["lag"] == 0
    assert status["arrival_per_second"] == pytest.approx(1000 / 15)
    assert status["consumption_per_second"] == pytest.approx(1000 / 15)
    assert status["partitions"] == 2
    assert status["topics"] == ["t"]
    assert (status["members"], status["idle_members"], status["kind"]) == (3, 1, "plain")
    assert written[GROUP_PARTITION_STATUS].is_empty()
    (reader,) = written[READERS].iter_rows(named=True)
    assert (reader["topic"], reader["group"], reader["partitions"]) == ("t", "g", 2)
    assert (reader["lag"], reader["unknown_partitions"], reader["time_lag_seconds"]) == (0, 0, 0.0)
    (topic,) = written[TOPIC_STATUS].iter_rows(named=True)
    assert topic["replication"] == "under min ISR"
    assert topic["arrival_per_second"] == pytest.approx(1000 / 15)
    assert topic["busiest_ratio"] == 1.0
    assert (topic["size_bytes"], topic["retained"], topic["groups"]) == (10, 40_005, 1)
    assert (topic["retention_seconds"], topic["slowest_group"]) == (3600.0, "g")
    one, two = written[BROKER_STATUS].iter_rows(named=True)
    assert (one["leaders"], one["replicas"]) == (2, 2)
    assert (one["offline_if_lost"], one["refused_if_lost"]) == (1, 1)
    assert two["missing_since"] == NOW - timedelta(seconds=15 * 20)
    assert (two["leaders"], two["offline_if_lost"], two["refused_if_lost"]) == (0, None, None)
    (risk,) = written[PARTITIONS_AT_RISK].iter_rows(named=True)
    assert (risk["partition"], risk["replication"]) == (0, "under min ISR")
    (cluster,) = written[CLUSTER_STATUS].iter_rows(named=True)
    assert (cluster["brokers"], cluster["missing_brokers"]) == (2, [2])
    assert (cluster["under_replicated"], cluster["under_min_isr"], cluster["offline"]) == (1, 1, 0)
    assert (cluster["partitions"], cluster["preferred_led"]) == (2, 1)
    assert (cluster["groups"], cluster["late_groups"], cluster["idle_members"]) == (1, 0, 1)
    assert (cluster["dead_letter_topics"], cluster["dead_letters_per_second"]) == (1, 1.0)
    assert cluster["newest_poll_at"] == NOW
    reported = {row["rule"]: row for row in written[OPEN_ALERTS].iter_rows(named=True)}
    assert reported["BrokerMissing"]["since"] == NOW - timedelta(seconds=15 * 20)
    assert reported["BrokerMissing"]["since_at_least"] is False
    assert reported["UnderMinIsr"]["inhibited_by"] == reported["BrokerMissing"]["fingerprint"]


def test_what_is_unknown_is_null() -> None:
    frames = Frames(
        cluster="c",
        now=NOW.timestamp(),
        tables={},
        errors={"groups": "broken", "dead_letters": "broken"},
    )
    found = ClusterEvaluation(
        frames=frames,
        statuses={},
        clear_partitions=pl.DataFrame(schema=PARTITION_LAG),
        seen=observe(frames),
    )
    (row,) = current_rows(found, (), {})[CLUSTER_STATUS].iter_rows(named=True)
    unknown = {name for name, value in row.items() if value is None}
    assert {"groups", "lag", "brokers", "partitions", "offline", "dead_letter_topics"} <= unknown
    assert {one["key"] for one in row["unreadable"]} == {"groups", "dead_letters"}


def test_what_is_no_longer_seen_stays_as_it_was_last_seen(tmp_path: Path) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    collector = Collector(lake, 13)
    in_memory = EvaluationInMemory(lake, DEFAULT_ALERT_RULES, watched_since=0.0)
    for number in range(5):
        now = collector.poll(number) + timedelta(seconds=3)
    seen = in_memory.evaluate("c", now.timestamp())
    later = in_memory.evaluate("c", now.timestamp() + 3000)
    for table in (TOPIC_STATUS, BROKER_STATUS, READERS):
        assert later[table].height > 0
        assert later[table].drop("evaluated_at").equals(seen[table].drop("evaluated_at"))
    assert set(later[GROUP_STATUS]["status"]) == {"UNKNOWN"}
    (cluster,) = later[CLUSTER_STATUS].iter_rows(named=True)
    assert cluster["partitions"] is None
    assert later[TOPIC_STATUS]["evaluated_at"][0] - now == timedelta(seconds=3000)


def test_without_the_service_its_last_rows_and_alerts_go_on(tmp_path: Path) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    collector = Collector(lake, 13)
    for number in range(5):
        now = collector.poll(number) + timedelta(seconds=3)
    found = ClusterEvaluator(lake, watched_since=0.0).evaluate("c", now.timestamp())
    written = current_rows(found, (), {})
    change = {"changed_at": now, "kind": "members", "name": "g", "before": 1, "after": 2}
    changes = pl.DataFrame([{**change, "evaluated_at": now}])
    lake.current.replace_all("c", {**written, RECENT_CHANGES: changes})
    alerts: dict[str, Alert] = {}
    for seconds in (0.0, 120.0, 240.0):
        at = now.timestamp() + 3000 + seconds
        silent = ClusterEvaluator(lake, watched_since=0.0).evaluate("c", at)
        alerts = advanced(alerts, silent, DEFAULT_ALERT_RULES)
    firing = {name for name, alert in alerts.items() if alert.state is State.FIRING}
    assert firing

    asked: list[str] = []

    def alerts_of(cluster: str) -> dict[str, Alert]:
        asked.append(cluster)
        return alerts

    in_memory = EvaluationInMemory(
        lake, DEFAULT_ALERT_RULES, watched_since=now.timestamp(), alerts_of=alerts_of
    )
    for seconds in (250.0, 260.0):
        tables = in_memory.evaluate("c", now.timestamp() + 3000 + seconds)
    shown = tables[OPEN_ALERTS].filter(pl.col("state") == "firing")
    assert firing <= set(shown["fingerprint"])
    assert "g" in tables[RECENT_CHANGES]["name"].to_list()
    assert asked == ["c"]


HOSTILE = ("../../etc", "a/b%2F", "x'\"\n", "⚠ 長い")


def test_hostile_names_stay_names(tmp_path: Path) -> None:
    settings = LakeSettings(uri=str(tmp_path / "lake"))
    store = CurrentStore(settings)
    in_memory = EvaluationInMemory(Lake(settings), DEFAULT_ALERT_RULES, watched_since=0.0)
    for cluster in HOSTILE:
        for table, given in (
            (COLLECTIONS, [{"source": "kafka", "section": "groups", "status": "ok"}]),
            (GROUPS, [{"group": name, "members": 1, "state": "stable"} for name in HOSTILE]),
            (
                GROUP_OFFSETS,
                [
                    {"group": name, "topic": name, "partition": 0, "log_start": 0, "log_end": 7}
                    | {"committed": 7, "lag": 0, "member_id": name}
                    for name in HOSTILE
                ],
            ),
            (PARTITIONS, [{"topic": name, "partition": 0, "log_end": 7} for name in HOSTILE]),
        ):
            named = rows(table, *given).with_columns(pl.lit(cluster).alias("cluster"))
            Lake(settings).append(table, named)
    for cluster in HOSTILE:
        store.replace_all(cluster, in_memory.evaluate(cluster, NOW.timestamp()))
    for cluster in HOSTILE:
        groups, readers = store.read(GROUP_STATUS, cluster), store.read(READERS, cluster)
        assert groups is not None
        assert readers is not None
        assert set(groups["group"]) == set(HOSTILE)
        assert set(readers.select("topic", "group").iter_rows()) == {(n, n) for n in HOSTILE}
    assert not (tmp_path / "etc").exists()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with a group that stands still."""
    folder = tmp_path_factory.mktemp("filled")
    collector = Collector(Lake(LakeSettings(uri=str(folder))), 12)
    for number in range(POLLS):
        collector.poll(number)
    return folder


@pytest.fixture
def service(filled: Path, tmp_path: Path) -> Iterator[AlertingService]:
    """A service on a copy of that lake."""
    shutil.copytree(filled, tmp_path / "lake")
    made = AlertingService(
        Settings(
            clusters=(ClusterSettings(name="c", bootstrap_servers="127.0.0.1:1"),),
            lake=LakeSettings(uri=str(tmp_path / "lake")),
            alerting=AlertingSettings(state=str(tmp_path / "alerts.db")),
        ),
        clock=(BEGIN + POLL * (POLLS - 1) + timedelta(seconds=3)).timestamp,
    )
    yield made
    made.close()


def test_the_service_writes_every_table(service: AlertingService, tmp_path: Path) -> None:
    service.evaluate()
    store = CurrentStore(LakeSettings(uri=str(tmp_path / "lake")))
    for table in CURRENT_TABLES:
        assert store.read(table, "c") is not None
    reported = store.read(OPEN_ALERTS, "c")
    assert reported is not None
    assert set(reported["fingerprint"]) == {
        one.fingerprint
        for one in service.store.alerts("c").values()
        if one.state is not State.RESOLVED
    }
    assert "GroupStalled" in set(reported["rule"])
    noted = service.store.noted(SERVICE)
    assert noted is not None
    assert noted["failures"] == {}


def test_the_status_command_prints_what_was_written(
    service: AlertingService, tmp_path: Path
) -> None:
    config = tmp_path / "headroom.yaml"
    config.write_text(
        "clusters:\n  - {name: c, bootstrap_servers: 127.0.0.1:1}\n"
        "  - {name: d, bootstrap_servers: 127.0.0.1:1}\n"
        "lake: {uri: lake}\nalerting: {state: alerts.db}\n"
    )
    service.evaluate()
    printed = CliRunner().invoke(app, ["status", "--config", str(config)])
    assert "cluster c: 1 of 3 groups not OK" in printed.output
    assert "  orders-readers: STALLED since 2026-01-05" in printed.output
    assert "cluster d: 1 of" not in printed.output
    found = json.loads(
        CliRunner().invoke(app, ["status", "--json", "--config", str(config)]).output
    )
    assert [one["group"] for one in found["clusters"][0]["not_ok"]] == ["orders-readers"]


def test_a_broken_file_is_replaced(
    service: AlertingService, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = CurrentStore(LakeSettings(uri=str(tmp_path / "lake")))
    path = Path(store.uri(GROUP_STATUS, "c"))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PAR1 and no more")
    service.evaluate()
    groups = store.read(GROUP_STATUS, "c")
    assert groups is not None
    assert groups.height == 3
    assert [one for one in caplog.messages if "since when a status holds" in one]


def test_what_cannot_be_written_is_said_and_stops_no_alert(
    service: AlertingService, tmp_path: Path
) -> None:
    (tmp_path / "lake" / "current").write_text("a file where the folder should be")
    service.evaluate()
    noted = service.store.noted(SERVICE)
    assert noted is not None
    assert "group_status" in str(noted["failures"])
    assert "GroupStalled" in {one.rule for one in service.store.alerts("c").values()}
