"""Clusters that are evaluated one moment after another, with the rows of before."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from alerting.current.rows import current_rows
from alerting.current.state import EvaluationInMemory
from alerting.evaluate.evaluation import ClusterEvaluator, advanced
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.lifecycle import Alert, State
from config.settings import LakeSettings
from lake.schemas.current import (
    BROKER_STATUS,
    CLUSTER_STATUS,
    GROUP_STATUS,
    OPEN_ALERTS,
    READERS,
    RECENT_CHANGES,
    TOPIC_STATUS,
)
from lake.schemas.tables import COLLECTIONS, GROUP_OFFSETS, GROUPS, PARTITIONS
from lake.storage.current_store import CurrentStore
from lake.storage.store import Lake
from tests.unit.alerting.current.sample_rows import NOW, rows
from tests.unit.alerting.inputs.test_recent_rows import Collector


def polled(lake: Lake) -> datetime:
    """Write five polls, and return a moment just after."""
    collector = Collector(lake, 13)
    for number in range(5):
        now = collector.poll(number) + timedelta(seconds=3)
    return now


def test_who_reads_a_topic_is_known_while_its_groups_are_unknown(tmp_path: Path) -> None:
    """Given samples that end, then their groups are unknown, and still the topic's readers."""
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    in_memory = EvaluationInMemory(lake, DEFAULT_ALERT_RULES, watched_since=0.0)
    now = polled(lake)
    seen = in_memory.evaluate("c", now.timestamp())[READERS]
    later = in_memory.evaluate("c", now.timestamp() + 240)
    assert set(later[GROUP_STATUS]["status"]) == {"UNKNOWN"}
    assert later[READERS].select("topic", "group").equals(seen.select("topic", "group"))
    assert later[READERS]["lag"].to_list() == [None] * seen.height
    assert set(later[READERS]["loss"]) == {"unknown"}


def test_what_is_no_longer_seen_stays_as_it_was_last_seen(tmp_path: Path) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    in_memory = EvaluationInMemory(lake, DEFAULT_ALERT_RULES, watched_since=0.0)
    now = polled(lake)
    seen = in_memory.evaluate("c", now.timestamp())
    later = in_memory.evaluate("c", now.timestamp() + 3000)
    for table in (TOPIC_STATUS, BROKER_STATUS, READERS):
        assert later[table].height > 0
        assert later[table].drop("evaluated_at").equals(seen[table].drop("evaluated_at"))
    assert set(later[GROUP_STATUS]["status"]) == {"UNKNOWN"}
    (cluster,) = later[CLUSTER_STATUS].iter_rows(named=True)
    assert cluster["partitions"] is None
    assert later[TOPIC_STATUS]["evaluated_at"][0] - now == timedelta(seconds=3000)


def test_of_a_group_that_cannot_be_read_it_is_known_what_lag_it_had_and_when(
    tmp_path: Path,
) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    in_memory = EvaluationInMemory(lake, DEFAULT_ALERT_RULES, watched_since=0.0)
    now = polled(lake)
    seen = in_memory.evaluate("c", now.timestamp())[GROUP_STATUS]
    assert seen["lag"].null_count() == 0
    assert (
        seen.select("known_lag", "known_lag_at").rows() == seen.select("lag", "observed_at").rows()
    )
    later = in_memory.evaluate("c", now.timestamp() + 240)[GROUP_STATUS]
    assert later["lag"].null_count() == later.height
    known = ["group", "known_lag", "known_lag_at"]
    assert later.select(known).equals(seen.select(known))


def test_without_the_service_its_last_rows_and_alerts_go_on(tmp_path: Path) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    now = polled(lake)
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
