"""Comparing the history in a lake with the one that plain Python computes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from lake.schemas.model import Table
from lake.schemas.tables import (
    CLUSTER_HISTORY,
    DEAD_LETTER_HISTORY,
    GROUP_HISTORY,
    GROUP_PARTITION_HISTORY,
    TOPIC_HISTORY,
)
from lake.storage.store import Lake
from tests.spark.bronze import SOURCES, Rows
from tests.spark.oracle.history import history

HISTORIES = (
    GROUP_PARTITION_HISTORY,
    GROUP_HISTORY,
    TOPIC_HISTORY,
    CLUSTER_HISTORY,
    DEAD_LETTER_HISTORY,
)

Found = dict[tuple[Any, ...], dict[str, Any]]


def stored(lake: Lake, table: Table) -> Found:
    """Return a history table as (grain, cluster, window start, …) to the other columns."""
    names = ["grain_seconds", *(name for name in table.key if name != "grain_seconds")]
    frame = lake.read(table)
    assert frame["generated"].null_count() == len(frame), "measured rows are not marked"
    rows = frame.drop("date", "hour", "generated").rows(named=True)
    found = {
        tuple(row[name] for name in names): {
            name: value for name, value in row.items() if name not in names
        }
        for row in rows
    }
    assert len(found) == len(rows), f"{table.name} has a row twice"
    return found


def all_stored(lake: Lake) -> dict[str, Found]:
    return {table.name: stored(lake, table) for table in HISTORIES}


def differences(found: dict[str, Found], wanted: dict[str, Found]) -> Iterator[str]:
    """Yield what is wrong with tables of history, one sentence each."""
    for table, rows in wanted.items():
        there = found[table]
        missing, surplus = rows.keys() - there.keys(), there.keys() - rows.keys()
        if missing:
            yield f"{table}: {len(missing)} rows are missing, as {min(missing)}"
        if surplus:
            yield f"{table}: {len(surplus)} rows too many, as {min(surplus)}"
        for key in rows.keys() & there.keys():
            row = rows[key]
            if there[key].keys() != row.keys():
                yield f"{table}: other columns"
                break
            for name, value in row.items():
                if not _equal(there[key][name], value):
                    yield f"{table} {key}: {name} is {there[key][name]}, should be {value}"


def assert_same(found: dict[str, Found], wanted: dict[str, Found]) -> None:
    wrong = list(differences(found, wanted))
    assert not wrong, "\n".join(wrong[:5])


def assert_recomputed(lake: Lake, polls: list[Rows]) -> None:
    """Check that the lake's history is what plain Python makes of these polls."""
    raw: Rows = {
        table.name: [row for poll in polls for row in poll[table.name]] for table in SOURCES
    }
    assert_same(all_stored(lake), history(raw))


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)
