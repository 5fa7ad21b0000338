"""How far replicas that are not in sync are behind."""

from __future__ import annotations

import polars as pl
import pytest

from collectors.kafka.cluster.offsets import LAG_SCHEMA, out_of_sync, slowest_follower

PARTITIONS = pl.DataFrame(
    {
        "topic": ["orders", "orders", "orders"],
        "partition": [0, 1, 2],
        "replicas": [[1, 2, 3], [1, 2, 3], [2]],
        "in_sync_replicas": [[1, 2, 3], [1], []],
    },
    schema_overrides={
        "partition": pl.Int32,
        "replicas": pl.List(pl.Int32),
        "in_sync_replicas": pl.List(pl.Int32),
    },
)


def test_replicas_that_are_not_in_sync() -> None:
    assert sorted(out_of_sync(PARTITIONS).rows()) == [
        ("orders", 1, 2),
        ("orders", 1, 3),
        ("orders", 2, 2),
    ]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param([], [(1, None), (2, None)], id="nothing"),
        pytest.param([(1, 2, 7), (1, 3, 9), (2, 2, 0)], [(1, 9), (2, 0)], id="all"),
        pytest.param([(1, 2, 7), (0, 1, 5)], [(1, None), (2, None)], id="one of two"),
    ],
)
def test_the_slowest_of_them(
    known: list[tuple[int, int, int]], expected: list[tuple[int, int | None]]
) -> None:
    rows = [("orders", *row) for row in known]
    lags = pl.DataFrame(rows, schema=LAG_SCHEMA, orient="row")
    found = slowest_follower(PARTITIONS, lags).sort("partition")
    assert found.select("partition", "follower_lag").rows() == expected
