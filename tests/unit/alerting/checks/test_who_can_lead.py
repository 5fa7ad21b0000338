"""Which brokers to start first when partitions have no leader."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from alerting.checks.cluster import who_can_lead
from lake.schemas.tables import PARTITIONS

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
    columns = ("in_sync_replicas", "eligible_leader_replicas")
    schema = {name: PARTITIONS.polars_schema[name] for name in columns}
    assert who_can_lead(pl.DataFrame(partitions, schema=schema, orient="row")) == step
