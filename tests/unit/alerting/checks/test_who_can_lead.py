"""Which brokers to start first when partitions have no leader."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from alerting.checks.cluster import partitions_offline, who_can_lead
from alerting.checks.model import CheckInput
from alerting.inputs.frames import Frames
from lake.schemas.tables import LOG_DIRECTORIES, PARTITIONS

COMPLETE = "first: nothing that was committed is missing there."


@pytest.mark.parametrize(
    ("partitions", "step"),
    [
        pytest.param([([3], None)], f"Start broker 3 {COMPLETE}", id="the last in sync"),
        pytest.param([([], [2])], f"Start broker 2 {COMPLETE}", id="eligible alone"),
        pytest.param([([3], [2])], f"Start broker 2 or 3 {COMPLETE}", id="either"),
        pytest.param([([3], [2]), ([], [2])], f"Start broker 2 {COMPLETE}", id="one for all"),
        pytest.param(
            [([3], []), ([2], [])], f"Start the brokers 2, 3 {COMPLETE}", id="each its own"
        ),
        pytest.param(
            [([3], []), ([], [])], "Start the brokers that hold their replicas.", id="one unknown"
        ),
        pytest.param([(None, None)], "Start the brokers that hold their replicas.", id="unknown"),
    ],
)
def test_who_can_lead(partitions: list[Any], step: str) -> None:
    assert who_can_lead(offline(partitions)) == step


MOUNT = "ount the failed log directory again, with its data, and restart"


@pytest.mark.parametrize(
    ("partitions", "step"),
    [
        pytest.param([([3], [])], f"M{MOUNT} broker 3 {COMPLETE}", id="its directory failed"),
        pytest.param([([3], [2])], f"Start broker 2 {COMPLETE}", id="another one has all"),
        pytest.param(
            [([3], []), ([2], [])],
            f"Start broker 2, and m{MOUNT} broker 3 {COMPLETE}",
            id="one of two",
        ),
        pytest.param([([3, 4], [])], f"M{MOUNT} broker 3 or 4 {COMPLETE}", id="either of two"),
    ],
)
def test_a_broker_whose_log_directory_failed_need_not_be_started(
    partitions: list[Any], step: str
) -> None:
    assert who_can_lead(offline(partitions), {3, 4}) == step


@pytest.mark.parametrize(("is_failed", "verb"), [(False, "Start"), (True, "Mount")])
def test_an_alert_tells_a_failed_log_directory_from_a_broker_that_is_gone(
    is_failed: bool, verb: str
) -> None:
    now = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
    rows = {
        PARTITIONS: {"topic": "t", "partition": 0, "replicas": [1], "in_sync_replicas": [1]},
        LOG_DIRECTORIES: {"broker_id": 1, "path": "/data", "is_offline": is_failed},
    }
    tables = {
        table.name: pl.DataFrame([{"observed_at": now, **row}], schema=table.polars_schema)
        for table, row in rows.items()
    }
    frames = Frames(cluster="c", now=now.timestamp(), tables=tables)
    (found,) = partitions_offline.observe(CheckInput(frames=frames, classify=lambda _: {}))
    assert found.step.startswith(f"{verb} ") and "broker 1 first" in found.step


def offline(partitions: list[Any]) -> pl.DataFrame:
    columns = ("in_sync_replicas", "eligible_leader_replicas")
    schema = {name: PARTITIONS.polars_schema[name] for name in columns}
    return pl.DataFrame(partitions, schema=schema, orient="row")
