"""The tables of the present say what the samples show."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl
import pytest

from alerting.checks.model import CheckInput
from alerting.current.cluster import cluster_row
from alerting.current.rows import alert_rows, current_rows
from alerting.current.topics import newest_partitions
from alerting.evaluate.evaluation import ClusterEvaluation, ClusterEvaluator, advanced
from alerting.evaluate.observations import observe
from alerting.inputs.frames import Frames
from alerting.inputs.polls import PARTITION_LAG
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.model import AlertSeverity
from config.settings import LakeSettings
from lake.schemas.current import (
    BROKER_STATUS,
    CLUSTER_STATUS,
    CURRENT_TABLES,
    GROUP_PARTITION_STATUS,
    GROUP_STATUS,
    OPEN_ALERTS,
    PARTITIONS_AT_RISK,
    READERS,
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
    QUORUM,
    TOPICS,
)
from lake.storage.store import Lake
from tests.alert_of import alert
from tests.unit.alerting.current.sample_rows import NOW, rows


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
                    "preferred_leader": 2,
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
    voters = [{"node_id": 1, "role": "leader"}, {"node_id": 2, "role": "voter"}]
    third = {"node_id": 3, "role": "voter", "last_fetch_at": NOW}
    tables[QUORUM] = [rows(QUORUM, *voters, third, ago=60)]
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
    assert (reader["loss"], reader["data_loss_at"]) == ("none", None)
    (topic,) = written[TOPIC_STATUS].iter_rows(named=True)
    assert topic["replication"] == "under min ISR"
    assert topic["arrival_per_second"] == pytest.approx(1000 / 15)
    assert topic["busiest_ratio"] == 1.0
    assert (topic["size_bytes"], topic["retained"], topic["groups"]) == (10, 40_005, 1)
    assert (topic["retention_seconds"], topic["slowest_group"]) == (3600.0, "g")
    one, two = written[BROKER_STATUS].iter_rows(named=True)
    assert (one["leaders"], one["replicas"]) == (2, 2)
    preferred = [(each["preferred"], each["preferred_led"]) for each in (one, two)]
    assert preferred == [(1, 1), (1, 0)], "what prefers a broker that is missing waits for it"
    # Without a majority of controllers both that it leads get no other leader.
    assert (one["offline_if_lost"], one["refused_if_lost"]) == (2, 1)
    assert (one["ends_quorum_if_lost"], two["ends_quorum_if_lost"]) == (True, None)
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


@pytest.mark.parametrize(
    ("given", "arriving"),
    [
        pytest.param([("a", "application", 5.0), ("d", "dead letter", 1.0)], (6.0, 0.0), id="none"),
        pytest.param([("a", "application", 5.0), ("_", "internal", 2.0)], (5.0, 2.0), id="one"),
        pytest.param([("a", None, 5.0), ("_", "changelog", None)], (5.0, None), id="unknown"),
        pytest.param([("a", "application", None), ("_", "internal", 2.0)], (None, 2.0), id="other"),
        pytest.param([], (None, None), id="no topic"),
    ],
)
def test_what_internal_topics_receive_stands_for_itself(
    given: list[tuple[str, str | None, float | None]],
    arriving: tuple[float | None, float | None],
) -> None:
    schema = {"topic": pl.String, "kind": pl.String, "arrival_per_second": pl.Float64}
    frames = Frames(cluster="c", now=NOW.timestamp(), tables={})
    row = cluster_row(
        frames,
        groups=GROUP_STATUS.empty,
        topics=pl.DataFrame(given, schema=schema, orient="row"),
        brokers=BROKER_STATUS.empty,
        partitions=newest_partitions(frames),
    )
    columns = ("arrival_per_second", "internal_arrival_per_second")
    assert row.select(columns).rows() == [arriving]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param([(3, 1), (2, 0)], (1, 1), id="all known"),
        pytest.param([(2, 0)], (0, 0), id="none idle"),
        pytest.param([(3, 1), (2, 0), (None, None)], (1, 1), id="of those known"),
        pytest.param([(2, 0), (None, None)], (None, None), id="none idle of those known"),
        pytest.param([(2, 0), (4, None)], (None, None), id="assignments unknown"),
        pytest.param([], (None, None), id="no group"),
    ],
)
def test_idle_members_are_unknown_unless_one_is_known_or_all_groups_are(
    given: list[tuple[int | None, int | None]], said: tuple[int | None, int | None]
) -> None:
    frames = Frames(cluster="c", now=NOW.timestamp(), tables={})
    groups = [
        {"group": f"g{number}", "members": members, "idle_members": idle}
        for number, (members, idle) in enumerate(given)
    ]
    row = cluster_row(
        frames,
        groups=pl.DataFrame(groups, schema=GROUP_STATUS.polars_schema),
        topics=TOPIC_STATUS.empty,
        brokers=BROKER_STATUS.empty,
        partitions=newest_partitions(frames),
    )
    assert row.select("idle_members", "idle_groups").rows() == [said]


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
        losses={},
        seen=observe(CheckInput(frames=frames, classify=lambda _: {})),
    )
    (row,) = current_rows(found, (), {})[CLUSTER_STATUS].iter_rows(named=True)
    unknown = {name for name, value in row.items() if value is None}
    assert {"groups", "lag", "brokers", "partitions", "offline", "dead_letter_topics"} <= unknown
    assert {one["key"] for one in row["unreadable"]} == {"groups", "dead_letters"}


def test_the_deadline_of_an_alert_stays_while_that_of_its_group_is_unknown() -> None:
    frames = Frames(cluster="c", now=NOW.timestamp(), tables={})
    near = alert(check="data_loss_deadline", deadline=NOW.timestamp() + 3600)
    stalled = alert(fingerprint="s", check="rewound")
    unknown = {"cluster": "c", "group": "g", "status": "STALLED", "evaluated_at": NOW}
    groups = pl.DataFrame([unknown], schema=GROUP_STATUS.polars_schema)
    found = alert_rows([near, stalled], groups, READERS.empty, frames)
    assert found["deadline_at"].to_list() == [NOW + timedelta(hours=1), None]
    known = groups.with_columns(pl.lit(NOW + timedelta(hours=2)).alias("data_loss_at"))
    found = alert_rows([stalled], known, READERS.empty, frames)
    assert found["deadline_at"].to_list() == [NOW + timedelta(hours=2)]


def test_an_alert_that_came_back_has_its_first_time_in_its_row() -> None:
    frames = Frames(cluster="c", now=NOW.timestamp(), tables={})
    back = alert(fired_at=1000.0, flaps=1, first_at=400.0, first_before=True)
    new = alert(fingerprint="n", started_at=2000.0)
    found = alert_rows([back, new], GROUP_STATUS.empty, READERS.empty, frames)
    first = found.select(pl.col("first_since").dt.epoch("s"), "first_since_at_least").rows()
    assert first == [(400, True), (None, None)]


@pytest.mark.parametrize(
    ("redrives", "loss", "deadline"),
    [
        pytest.param(None, "none", NOW + timedelta(hours=1), id="nobody"),
        pytest.param("gone", "none", NOW + timedelta(hours=1), id="a group that is not there"),
        pytest.param("g", "none", None, id="a group that reads in time"),
        pytest.param("g", "lost", None, id="a group that loses them already"),
        pytest.param("g", "coming", NOW + timedelta(hours=2), id="a group that is too late"),
    ],
)
def test_an_alert_of_dead_letters_has_the_deadline_of_their_topic(
    redrives: str | None, loss: str, deadline: datetime | None
) -> None:
    oldest = "oldest_unprocessed_at" if redrives else "oldest_retained_at"
    letters = {"source": "kafka", "name": "t.dlq", oldest: NOW}
    tables = {
        DEAD_LETTERS.name: rows(DEAD_LETTERS, {**letters, "redrive_group": redrives}),
        TOPICS.name: rows(TOPICS, {"topic": "t.dlq", "retention_seconds": 3600.0}),
    }
    frames = Frames(cluster="c", now=NOW.timestamp(), tables=tables)
    labels = {"source": "kafka", "name": "t.dlq"}
    late_at = NOW + timedelta(hours=2) if loss == "coming" else None
    reads = {"cluster": "c", "topic": "t.dlq", "group": "g", "loss": loss, "data_loss_at": late_at}
    found = alert_rows(
        [alert(check="dead_letter_ratio", labels=labels)],
        GROUP_STATUS.empty,
        pl.DataFrame([reads], schema=READERS.polars_schema),
        frames,
    )
    assert found["deadline_at"].to_list() == [deadline]


def test_a_cause_that_has_just_ended_stays_above_the_symptoms_that_go_on() -> None:
    """Given a broker that is back, then its topics are one row with it until they are well."""
    frames = Frames(cluster="c", now=NOW.timestamp(), tables={})
    at = NOW.timestamp()
    broker = alert(
        fingerprint="b",
        check="broker_missing",
        labels={"cluster": "c", "broker": "2"},
        started_at=at - 600,
        resolved_at=at,
    )
    topics = [
        alert(
            fingerprint=name,
            check="under_replicated",
            severity=AlertSeverity.WARNING,
            started_at=at - 600,
            inhibited_by="b",
        )
        for name in ("t1", "t2")
    ]
    found = alert_rows([broker, *topics], GROUP_STATUS.empty, READERS.empty, frames)
    assert set(found["fingerprint"]) == {"b", "t1", "t2"}
    (cause,) = found.filter(pl.col("inhibited_by").is_null()).iter_rows(named=True)
    told = (cause["fingerprint"], cause["state"], cause["severity"])
    assert told == ("b", "resolved", "critical")
    assert alert_rows([broker], GROUP_STATUS.empty, READERS.empty, frames).is_empty()


def test_a_cluster_without_kafka_has_the_rows_that_the_long_way_gives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    section = {"source": "rabbitmq/main", "section": "dead_letters", "status": "ok", "rows": 1}
    letters = {"source": "rabbitmq", "name": "orders.dlq", "retained": 3, "log_end": 3}
    frames = Frames(
        cluster="c",
        now=NOW.timestamp(),
        tables={
            COLLECTIONS.name: rows(COLLECTIONS, section),
            DEAD_LETTERS.name: rows(DEAD_LETTERS, letters),
        },
    )
    found = ClusterEvaluation(
        frames=frames,
        statuses={},
        clear_partitions=pl.DataFrame(schema=PARTITION_LAG),
        losses={},
        seen=observe(CheckInput(frames=frames, classify=lambda _: {})),
    )
    alerts = advanced({}, found, DEFAULT_ALERT_RULES)

    first = current_rows(found, alerts.values(), {})
    short = current_rows(found, alerts.values(), first)
    monkeypatch.setattr("alerting.current.rows._is_without_kafka", lambda *_: False)
    long = current_rows(found, alerts.values(), first)

    assert short[CLUSTER_STATUS]["dead_letter_topics"].to_list() == [1]
    assert short.keys() == long.keys()
    for table, expected in long.items():
        assert short[table].schema == table.polars_schema
        assert short[table].equals(expected), table.name
