"""What is remembered of groups, and how much of it is read after a start."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from alerting.__main__ import app
from alerting.evaluate import status_history
from alerting.evaluate.status_history import GroupMemory
from alerting.inputs.lake_rows import read_range
from alerting.inputs.windows import GroupKey
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.tools.replay import replay
from config.settings import LakeSettings
from lake.schemas.model import Table
from lake.schemas.tables import (
    COLLECTIONS,
    GROUP_OFFSETS,
    GROUPS,
)
from lake.storage.store import Lake
from tests.unit.alerting.evaluate.polled_rows import NOW, classified, collected, rows


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
    assert memory.statuses(full)[key].status == "STALLED"
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


@pytest.fixture
def job_of_an_hour_ago(tmp_path: Path) -> Lake:
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
    return lake


def test_after_a_restart_the_past_is_read_from_the_lake(job_of_an_hour_ago: Lake) -> None:
    frames = read_range(job_of_an_hour_ago, "c", NOW.timestamp(), NOW.timestamp())
    key = GroupKey("c", "g")

    assert classified(frames)[key].status == "STOPPED"
    status = GroupMemory(job_of_an_hour_ago).statuses(frames)[key]
    assert status.status == "OK"
    assert status.reason.startswith("Between runs")


def test_a_past_that_takes_long_to_read_is_read_on_in_later_evaluations(
    job_of_an_hour_ago: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = read_range(job_of_an_hour_ago, "c", NOW.timestamp(), NOW.timestamp())
    memory, key = GroupMemory(job_of_an_hour_ago), GroupKey("c", "g")

    with monkeypatch.context() as slow:
        slow.setattr(status_history, "RECALL_SECONDS", 0.0)
        slow.setattr(status_history, "READ_ON_SECONDS", 0.0)
        assert memory.statuses(frames)[key].status == "STOPPED"
        assert memory.statuses(frames)[key].status == "STOPPED"
    # However busy the machine is.
    monkeypatch.setattr(status_history, "READ_ON_SECONDS", 600.0)
    assert memory.statuses(frames)[key].status == "OK"


def test_what_a_status_follows_from_can_be_asked_for(lake: Lake, tmp_path: Path) -> None:
    config = tmp_path / "headroom.yaml"
    config.write_text(
        "clusters: [{name: c, bootstrap_servers: 'localhost:1'}]\n"
        f"lake: {{uri: '{tmp_path / 'lake'}'}}\n"
        "scaling: {objectives: [{groups: 'g', time_lag_seconds: 120}]}\n"
    )
    run = partial(CliRunner().invoke, app)
    asked = ["explain", "g", "--config", str(config), "--at", NOW.isoformat()]
    answer = run([*asked, "--json"])
    assert answer.exit_code == 0, answer.output
    (one,) = json.loads(answer.stdout)
    features = {feature["name"]: feature for feature in one["features"]}
    assert one["status"] == "STALLED"
    assert features["age of the oldest of them"]["compared"].startswith("objective 2 min")
    assert features["time without a commit"]["compared"] == "stalled from 45 s on"
    assert one["partition"] == "t-0"
    text = run(asked).stdout
    assert "t-0 decides" in text
    assert "stalled from 45 s on" in text
    missing = run(["explain", "nobody", "--config", str(config), "--at", NOW.isoformat()])
    assert missing.exit_code == 1
