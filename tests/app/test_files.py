"""The files of tables: all rows, also where the page shows a part of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from app.ui import tables
from config.load import load
from lake.schemas.current import PARTITIONS_AT_RISK, TOPIC_STATUS
from lake.schemas.model import Table
from lake.schemas.tables import CLUSTER_EVENTS, RECOMMENDATIONS
from lake.storage.store import Lake
from tests.app import world_advice
from tests.app.conftest import NOW
from tests.app.test_pages import calm
from tests.app.world import CLUSTER

Open = Callable[..., AppTest]
MANY = 1100
"""More rows than any table shows."""


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The number of rows in the file of each table that is drawn."""
    found: dict[str, int] = {}
    show = tables.show

    def noted(frame: pl.DataFrame, columns: Any, *, key: str, **rest: Any) -> None:
        every = rest.get("every")
        rows = frame if every is None else every()
        found[key] = len(tables.csv(rows, columns).splitlines()) - 1
        show(frame, columns, key=key, **rest)

    monkeypatch.setattr(tables, "show", noted)
    return found


@pytest.fixture
def large(filled: Path, tmp_path: Path) -> Path:
    """A copy of the filled folder with many topics, partitions at risk, changes and advice."""
    folder = Path(shutil.copytree(filled, tmp_path / "large"))
    lake = Lake(load(folder / "headroom.yaml").lake)

    def many(table: Table) -> None:
        rows = lake.current.read(table, CLUSTER)
        assert rows is not None
        names = pl.DataFrame({"topic": [f"topic-{number}" for number in range(MANY)]})
        one = rows.filter(topic="orders").head(1).drop("topic")
        lake.current.replace(table, CLUSTER, names.join(one, how="cross"))

    many(TOPIC_STATUS)
    many(PARTITIONS_AT_RISK)
    event = {"cluster": CLUSTER, "observed_at": NOW, "poll_id": "x", "kind": "topic created"}
    lake.append(
        CLUSTER_EVENTS,
        pl.DataFrame([{**event, "subject": f"topic-{number}"} for number in range(MANY)]),
    )
    world_advice.fill(lake, NOW)
    return folder


def test_the_file_of_a_long_table_has_all_rows(
    open_page: Open, large: Path, files: dict[str, int]
) -> None:
    for page in ("topics", "brokers", "scaling"):
        calm(open_page(large, page))
    assert files["topics-table"] == MANY
    assert files["brokers-partitions"] == MANY
    assert files["brokers-changes"] >= MANY
    given = Lake(load(large / "headroom.yaml").lake).read(RECOMMENDATIONS, cluster=CLUSTER)
    changes = given.filter(~pl.col("kind").is_in(["keep", "unknown"]))
    assert files["advice-history"] == changes.height > 0
