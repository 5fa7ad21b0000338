"""What checks see in rows of the lake, and what is not known."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from alerting.checks.model import CheckInput
from alerting.evaluate.observations import CheckedCluster, evaluate_cluster, observe
from alerting.inputs.frames import Frames
from alerting.inputs.windows import GroupKey
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.model import Override, unasked
from alerting.status.model import GroupStatus, LagNumbers, Status
from lake.schemas.model import Table
from lake.schemas.tables import (
    BROKERS,
    CONNECTORS,
    DEAD_LETTERS,
    GROUPS,
    PARTITIONS,
    QUEUES,
)
from tests.unit.alerting.evaluate.polled_rows import NOW, classified, collected, rows


def look(
    *frames: tuple[Table, pl.DataFrame], collections: pl.DataFrame | None = None
) -> CheckedCluster:
    tables = {table.name: frame for table, frame in frames}
    tables["collections"] = collected() if collections is None else collections
    return observe(
        CheckInput(
            frames=Frames(cluster="c", now=NOW.timestamp(), tables=tables), classify=classified
        )
    )


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

    seen = observe(
        CheckInput(frames=frames, classify=lambda _: {key: status}), "stopped"
    ).observations

    reported = {one.what: one.step for one in seen if one.check == "stopped"}
    assert expected in reported["connect-export stopped"]


@pytest.mark.parametrize(
    ("threshold", "expected"), [(None, {"objective_missed"}), (100.0, {"objective_missed", "lag"})]
)
def test_what_no_rule_compares_is_not_looked_at(
    threshold: float | None, expected: set[str]
) -> None:
    """The default rules on lag have no threshold; of a table that lacks they say so anyway."""
    override = Override(match={"group": "billing"}, threshold=threshold)
    rules = [
        replace(rule, overrides=(override,)) if rule.check == "lag" else rule
        for rule in DEFAULT_ALERT_RULES
    ]
    late = GroupStatus(
        status=Status.FALLING_BEHIND,
        reason="",
        numbers=LagNumbers(lag=500, behind_seconds=400.0),
        is_lasting=True,
        over_objective_seconds=100.0,
    )
    frames = Frames(cluster="c", now=NOW.timestamp(), tables={"collections": collected()})

    seen = observe(
        CheckInput(frames=frames, classify=lambda _: {GroupKey("c", "billing"): late}),
        unasked=unasked(rules),
    ).observations

    checks = {"lag", "time_lag", "objective_missed"}
    assert {one.check for one in seen if one.value is not None} & checks == expected
    assert {one.check for one in seen if one.value is None} >= checks


def test_an_objective_is_missed_since_it_was_exceeded() -> None:
    now = NOW.timestamp()
    late = GroupStatus(
        status=Status.FALLING_BEHIND,
        reason="",
        since=now - 900,
        numbers=LagNumbers(lag=500, behind_seconds=400.0),
        is_lasting=True,
        over_objective_seconds=100.0,
        over_objective_since=now - 240,
    )
    frames = Frames(cluster="c", now=now, tables={"collections": collected()})
    seen = observe(
        CheckInput(frames=frames, classify=lambda _: {GroupKey("c", "billing"): late}),
        "objective_missed",
    )
    (missed,) = [one for one in seen.observations if one.value is not None]
    assert (missed.since, missed.began) == (now - 240, now - 900)


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
    assert reported[0].detail == "X: boom."


def test_the_monitor_watches_itself() -> None:
    failed = found(look(collections=collected(status="failed")))
    assert {"CollectionFailed", "DataStale", "NothingCollected"} <= failed.keys()
    late = look(collections=collected(seconds_ago=61))
    assert late.has_no_data
    assert {"DataStale", "NothingCollected"} <= found(late).keys()
    assert "NothingCollected" not in found(look(collections=collected(seconds_ago=59)))


@pytest.mark.parametrize(("age", "is_told"), [(31, False), (33, True)])
def test_with_a_short_interval_a_standby_has_the_time_to_take_over(age: int, is_told: bool) -> None:
    seen = found(look(collections=collected(seconds_ago=age, interval=5.0)))
    assert ("NothingCollected" in seen) is is_told


def test_a_monitor_that_has_just_started_gives_the_collectors_time() -> None:
    tables = {"collections": collected(seconds_ago=900)}
    just_started = Frames(
        cluster="c",
        now=NOW.timestamp(),
        tables=tables,
        errors={},
        watched_since=NOW.timestamp() - 30,
    )
    assert found(observe(CheckInput(frames=just_started, classify=classified))) == {}
    still_late = replace(just_started, watched_since=NOW.timestamp() - 61)
    assert {"DataStale", "NothingCollected"} <= found(
        observe(CheckInput(frames=still_late, classify=classified))
    ).keys()


def test_a_restart_during_an_outage_leaves_its_alerts_as_they_are() -> None:
    tables = {"collections": collected(seconds_ago=900)}
    seen = observe(
        CheckInput(
            frames=Frames(
                cluster="c",
                now=NOW.timestamp(),
                tables=tables,
                errors={},
                watched_since=NOW.timestamp() - 30,
            ),
            classify=classified,
        )
    )
    values = {one.check: one.value for one in seen.observations}
    assert values["nothing_collected"] is None
    assert values["data_stale"] is None


@pytest.mark.parametrize(("watched", "expected"), [(119.0, False), (121.0, True)])
def test_what_never_worked_is_given_two_minutes_to_start(watched: float, expected: bool) -> None:
    tables = {"collections": collected(status="failed", interval=5.0)}
    seen = observe(
        CheckInput(
            frames=Frames(
                cluster="c",
                now=NOW.timestamp(),
                tables=tables,
                errors={},
                watched_since=NOW.timestamp() - watched,
            ),
            classify=classified,
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
