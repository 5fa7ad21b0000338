"""Rows that are read as they come are those that reading everything gives."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from deltalake import DeltaTable

from alerting.checks.model import CheckInput
from alerting.evaluate.evaluation import ClusterEvaluation, ClusterEvaluator, advanced
from alerting.evaluate.observations import observe
from alerting.evaluate.status_history import GroupMemory
from alerting.evaluate.watched import Watched, watched
from alerting.inputs import recent_rows
from alerting.inputs.frames import Frames
from alerting.inputs.lake_rows import read_range
from alerting.inputs.recent_rows import RecentRows, known_reasons, newest_of_topics
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.lifecycle import Alert
from config.settings import LakeSettings
from lake.change_encoding.compact import ChangeEncoder
from lake.errors import LakeError
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
from lake.storage.append import conform
from lake.storage.store import Lake
from tests.selection import exhaustive

BEGIN = datetime(2026, 1, 5, 23, 50, tzinfo=UTC)
POLL = timedelta(seconds=45)
KAFKA_SOURCE = {"source": "kafka", "interval_seconds": POLL.total_seconds()}
POLLS = 24
"""More than the quarter of an hour after which all rows are written again, and over midnight."""


class Collector:
    """Writes a small cluster whose polls are late, lost, or lack a topic, as collectors do.

    Each poll is seven tables in a real lake, so polls are few and much happens in them.
    """

    def __init__(self, lake: Lake, seed: int) -> None:
        self._lake = lake
        self._random = random.Random(seed)  # noqa: S311 - the same lake each time
        self._encoders = {table: ChangeEncoder(table) for table in (GROUP_OFFSETS, PARTITIONS)}
        self._late: list[tuple[int, Table, pl.DataFrame]] = []
        self._ends: dict[tuple[str, int], int] = {}
        self._committed: dict[tuple[str, int], int] = {}

    def poll(self, number: int) -> datetime:
        at = BEGIN + POLL * number
        gone = number % 9 in (4, 5)
        topics = ["orders", "orders.dlq"] + ([] if gone else ["clicks"])
        for late in [one for one in self._late if one[0] <= number]:
            self._late.remove(late)
            self._lake.append(late[1], late[2])
        for table, given in self._rows(topics, at, number).items():
            if self._random.random() < 0.1:  # lost on its way
                if table in self._encoders:
                    self._encoders[table].forget("kafka")
                continue
            shared = {"cluster": "c", "observed_at": at, "poll_id": f"{at.timestamp():.0f}"}
            rows = conform(
                table,
                pl.DataFrame(
                    [shared | one for one in given],
                    schema_overrides=table.polars_schema,
                    infer_schema_length=None,
                ),
            )
            if table in self._encoders:
                rows = conform(table, self._encoders[table].compact("kafka", rows))
            elif self._random.random() < 0.2:
                self._late.append((number + self._random.randint(1, 2), table, rows))
                continue
            self._lake.append(table, rows)
        if self._random.random() < 0.15:
            table = self._random.choice([GROUP_OFFSETS, GROUPS])
            if self._lake.exists(table):
                DeltaTable(self._lake.uri(table)).optimize.compact()
        return at

    def _rows(
        self, topics: list[str], at: datetime, number: int
    ) -> dict[Table, list[dict[str, Any]]]:
        partitions, offsets = [], []
        for topic in topics:
            for partition in range(3):
                key = (topic, partition)
                moves = partition and topic != "orders.dlq"
                end = self._ends[key] = self._ends.get(key, 100) + (40 * partition if moves else 0)
                stuck = topic == "orders" and partition == 2 and number > 6
                read = self._committed.get(key, 100) if stuck else end - 3 * partition
                self._committed[key] = read
                replica = {"topic": topic, "partition": partition, "replicas": [1, 2], "leader": 1}
                ends = {"log_start": 0, "log_end": end}
                in_sync = [1] if number % 5 > 2 and partition == 1 else [1, 2]
                partitions.append({**replica, **ends, "in_sync_replicas": in_sync})
                names = {"group": f"{topic}-readers", "topic": topic, "partition": partition}
                lag = {"committed": read, "lag": end - read, "member_id": "m"}
                offsets.append({**names, **ends, **lag})
        members = [
            {"group": name, "members": 1, "state": "stable", "kind": "plain"}
            for name in sorted({one["group"] for one in offsets})
        ]
        letters = {"source": "kafka", "name": "orders.dlq", "log_end": number}
        reasons = ["a.Timeout", *(["b.Broken"] if 10 < number < 13 else [])]
        sections = (GROUP_OFFSETS, GROUPS, PARTITIONS, BROKERS, DEAD_LETTERS)
        rows: dict[Table, list[dict[str, Any]]] = {
            COLLECTIONS: [
                {"section": table.name, "status": "ok", **KAFKA_SOURCE} for table in sections
            ],
            GROUP_OFFSETS: offsets,
            GROUPS: members,
            PARTITIONS: partitions,
            BROKERS: [{"broker_id": one, "is_alive": True} for one in (1, 2)],
            DEAD_LETTERS: [letters | {"reasons": [{"key": one, "value": 1} for one in reasons]}],
        }
        if number % 7 == 0:
            rows[TOPICS] = [{"topic": one, "retention_seconds": 3600.0} for one in topics]
        return rows


def read_in_full(lake: Lake, now: datetime) -> Frames:
    full = read_range(lake, "c", now.timestamp(), now.timestamp())
    tables = {
        name: rows.unique(_key(name), keep="first").sort("observed_at", maintain_order=True)
        for name, rows in full.tables.items()
    }
    tables["topics"] = newest_of_topics(tables["topics"], now)
    tables["dead_letters"] = known_reasons(tables["dead_letters"], now)
    return Frames(cluster="c", now=now.timestamp(), tables=tables, errors=full.errors)


def _key(name: str) -> list[str]:
    return list(next(table for table in TABLES_HERE if table.name == name).key)


TABLES_HERE = [table for table, _ in recent_rows.LOOK_BACK]


def assert_same(found: Frames, wanted: Frames, step: int) -> None:
    assert not found.errors
    for name, rows in wanted.tables.items():
        key = _key(name)
        got = found.tables[name].drop("stream", strict=False).sort(key)
        assert got.equals(rows.drop("stream", strict=False).sort(key)), (step, name)


def steps(lake: Lake, seed: int, count: int) -> Iterator[tuple[int, datetime]]:
    collector = Collector(lake, seed)
    for number in range(count):
        yield number, collector.poll(number) + timedelta(seconds=3)


@pytest.mark.parametrize(("seed", "polls", "every"), [(1, POLLS, 3), *exhaustive((2, 70, 1))])
def test_rows_read_as_they_come_are_those_of_a_full_read(
    tmp_path: Path, seed: int, polls: int, every: int
) -> None:
    """Late rows, lost polls, a topic that goes and comes, midnight, compaction, a skipped step.

    Rows stay in memory for at least 13 polls: one that is wrong would be seen at the next look.
    """
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    recent, other = RecentRows(lake), Lake(LakeSettings(uri=str(tmp_path / "lake")))
    for number, now in steps(lake, seed, polls):
        if number % 13 == 5:
            continue
        found = recent.frames("c", now.timestamp())
        if number % every == 0:
            assert_same(found, read_in_full(other, now), number)


@pytest.mark.parametrize(("seed", "polls", "every"), [(4, POLLS, 2), *exhaustive((3, 60, 1))])
def test_statuses_and_alerts_are_those_of_a_full_read(
    tmp_path: Path, seed: int, polls: int, every: int
) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    evaluator, memory = ClusterEvaluator(lake, watched_since=0.0), GroupMemory(lake)
    alerts: dict[str, Alert] = {}
    wanted_alerts: dict[str, Alert] = {}
    seen: set[str] = set()
    before: Watched | None = None
    for number, now in steps(lake, seed, polls):
        if number % every:
            continue
        found = evaluator.evaluate("c", now.timestamp())
        full = read_in_full(lake, now)
        given = CheckInput(frames=full, classify=memory.statuses)
        wanted = ClusterEvaluation(
            frames=full,
            statuses=given.statuses,
            clear_partitions=memory.clear_partitions("c"),
            losses=given.losses,
            seen=observe(given),
            before=before,
        )
        before = watched(full, wanted.seen)
        assert _said(found) == _said(wanted), number
        alerts = advanced(alerts, found, DEFAULT_ALERT_RULES)
        wanted_alerts = advanced(wanted_alerts, wanted, DEFAULT_ALERT_RULES)
        assert alerts == wanted_alerts, number
        seen |= {alert.rule for alert in alerts.values()}
    assert {"GroupStalled", "UnderReplicated", "DeadLettersArriving"} <= seen


def _said(found: ClusterEvaluation) -> dict[str, tuple[str, str, float | None, int | None]]:
    return {
        key.group: (one.status.value, one.reason, one.since, one.numbers.lag)
        for key, one in found.statuses.items()
    }


def test_a_table_that_is_made_anew_is_read_anew(tmp_path: Path) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    recent = RecentRows(lake)
    collector = Collector(lake, 5)
    for number in range(10):
        now = collector.poll(number) + timedelta(seconds=3)
        recent.frames("c", now.timestamp())
    for table in (GROUP_OFFSETS, GROUPS, COLLECTIONS):
        shutil.rmtree(lake.uri(table))
    gone = recent.frames("c", now.timestamp())
    assert gone.rows(GROUP_OFFSETS).is_empty()
    assert gone.rows(GROUPS).is_empty()
    collector = Collector(lake, 6)
    for number in range(10, 18):
        now = collector.poll(number) + timedelta(seconds=3)
        if number > 12:
            full = read_in_full(Lake(LakeSettings(uri=str(tmp_path / "lake"))), now)
            assert_same(recent.frames("c", now.timestamp()), full, number)


def test_who_begins_while_collectors_are_away_reads_nothing(tmp_path: Path) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path)))
    *_, (_, last) = steps(lake, 3, 4)
    later = last + timedelta(minutes=12)  # their rows may still stand for polls, and none came
    found = RecentRows(lake).frames("c", later.timestamp())
    assert not found.errors
    assert found.rows(GROUP_OFFSETS).is_empty()


def test_a_table_that_cannot_be_read_is_said_and_read_again(tmp_path: Path) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    recent = RecentRows(lake)
    collector = Collector(lake, 7)
    before: set[Path] = set()
    for number in range(12):
        before = set(Path(lake.uri(GROUPS)).rglob("*.parquet"))
        now = collector.poll(number) + timedelta(seconds=3)
        if number < 11:
            recent.frames("c", now.timestamp())
    (newest,) = set(Path(lake.uri(GROUPS)).rglob("*.parquet")) - before
    content = newest.read_bytes()
    newest.write_bytes(content[:100])
    broken = recent.frames("c", now.timestamp())
    assert set(broken.errors) == {"groups"}
    assert "groups" not in broken.tables
    newest.write_bytes(content)
    assert_same(recent.frames("c", now.timestamp()), read_in_full(lake, now), 12)


def test_what_nobody_added_to_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    collector, recent = Collector(lake, 8), RecentRows(lake)
    for number in range(5):
        now = collector.poll(number) + timedelta(seconds=3)
    wanted = recent.frames("c", now.timestamp())

    def refused(*_: object, **__: object) -> None:
        raise LakeError("a file was opened")

    monkeypatch.setattr(pl, "scan_parquet", refused)
    assert_same(recent.frames("c", now.timestamp()), wanted, 5)


def test_of_many_rows_fewer_older_polls_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_rows, "MOST_ROWS", 60)
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    collector, recent = Collector(lake, 9), RecentRows(lake)
    for number in range(POLLS):
        now = collector.poll(number) + timedelta(seconds=3)
        frames = recent.frames("c", now.timestamp())
        rows = frames.rows(PARTITIONS)
        assert rows.height <= 80
        if number > 14:
            covered = rows["observed_at"].max() - rows["observed_at"].min()  # type: ignore[operator]
            assert covered > timedelta(minutes=4)
    fresh = RecentRows(lake).frames("c", now.timestamp()).rows(PARTITIONS)
    assert fresh.height <= 80
    assert newest_poll(fresh).equals(newest_poll(rows))


def newest_poll(rows: pl.DataFrame) -> pl.DataFrame:
    newest = rows.filter(pl.col("observed_at") == pl.col("observed_at").max())
    return newest.sort(PARTITIONS.key)


@pytest.mark.parametrize(
    ("sources", "is_read"),
    [
        (["rabbitmq/main"], False),
        (["rabbitmq/main", "kafka"], True),
        (["rabbitmq/main", None], True),
        (["prometheus/main"], True),  # whose history may have been filled in
        ([], True),
    ],
)
def test_tables_that_no_source_of_a_cluster_fills_are_not_read(
    tmp_path: Path, sources: list[str | None], is_read: bool
) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    sample = {"cluster": ["c"], "observed_at": [BEGIN], "poll_id": ["p"]}
    lake.append(BROKERS, pl.DataFrame(sample | {"broker_id": [1]}))
    for source in sources:
        lake.append(COLLECTIONS, pl.DataFrame(sample | {"source": [source], "section": ["s"]}))

    frames = RecentRows(lake).frames("c", BEGIN.timestamp() + 1)

    assert frames.rows(BROKERS).is_empty() is not is_read
    assert frames.rows(COLLECTIONS).height == len(sources)
