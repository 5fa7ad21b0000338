"""The page of RabbitMQ's queues."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from app.data import directory
from app.style.columns import NONE
from config.load import load
from lake.schemas.tables import QUEUES
from lake.storage.store import Lake
from tests.app.conftest import NOW
from tests.app.figures import figure, metric
from tests.app.queues import add_rabbit, shop
from tests.app.test_alerts import listed
from tests.app.test_pages import calm, texts

Open = Callable[..., AppTest]


def test_queues_are_listed_the_worst_first(open_page: Open, filled: Path, tmp_path: Path) -> None:
    test = open_page(add_rabbit(filled, tmp_path / "rabbit", NOW), "queues")
    calm(test)
    assert test.title[0].value == (
        "1 queue loses its dead letters, 9 dead letters wait, nobody consumes 1 queue"
    )
    said = texts(test).replace("\\", "")
    assert "8 queues: 12\u202f359 messages ready" in said
    assert "the depth of 1 queue unknown" in said
    assert (metric(test, "Ready"), metric(test, "Targets missing")) == ("12\u202f359", "1")
    assert metric(test, "Dead letters") == "9"
    rows = test.dataframe[0].value
    assert rows.columns[0] == "queue"
    assert not json.loads(test.dataframe[0].proto.columns)["queue"].get(
        "pinned"
    )  # it would be grey
    assert rows["queue"].to_list()[:4] == ["parcels", "invoices.dead", "forgotten", "new"]
    by_queue = rows.set_index("queue")
    assert by_queue.loc["parcels", "goes_to"] == "nowhere: exchange parcels.failed"
    assert by_queue.loc["invoices", "goes_to"] == "invoices.dead"
    assert by_queue.loc["by.headers", "goes_to"] == "perhaps invoices.dead"
    assert by_queue.loc["invoices.dead", "oldest_seconds"] == 3 * 3600
    assert by_queue["ready"].isna().to_dict() == {name: name == "new" for name in rows["queue"]}
    assert by_queue.loc["audit", "ready"] == NONE  # a stream has no backlog


def test_what_waited_is_drawn(open_page: Open, filled: Path, tmp_path: Path) -> None:
    folder = add_rabbit(filled, tmp_path / "rabbit", NOW)
    test = open_page(folder, "queues")
    calm(test)
    assert "the running minute is drawn once it is over" in texts(test)
    lake = Lake(load(folder / "headroom.yaml").lake)
    for minutes in range(1, 31):
        lake.append(QUEUES, shop(NOW - timedelta(minutes=minutes)))
    test = open_page(folder, "queues", range="6h")
    calm(test)
    drawn = figure(test, "queues-waiting")["data"]
    deepest = ["invoices", "invoices.dead", "mails.wait", "forgotten", "by.headers"]
    assert [one["name"] for one in drawn] == deepest
    assert "Known is" not in texts(test), "the axis shows from when on"


def test_a_queue_that_grows_looks_like_it(open_page: Open, filled: Path, tmp_path: Path) -> None:
    folder = add_rabbit(filled, tmp_path / "rabbit", NOW)
    lake = Lake(load(folder / "headroom.yaml").lake)
    grows = pl.col("queue") == "invoices"
    for minutes in range(1, 6):
        less = pl.when(grows).then(pl.col("ready") - 60 * 5 * minutes).otherwise("ready")
        polled = shop(NOW - timedelta(minutes=minutes)).with_columns(less.alias("ready"))
        lake.append(QUEUES, polled)
    test = open_page(folder, "queues")
    calm(test)
    assert test.title[0].value.endswith("nobody consumes 1 queue, 1 queue falls behind")
    (worst, *others) = listed(test)
    assert worst["what"] == "parcels loses its dead letters"
    steps = {row["what"]: row["step"] for row in others}
    assert steps["invoices falls behind"].startswith("Raise the prefetch of its consumers")
    assert "The same of all, where known" in texts(test)
    by_queue = test.dataframe[0].value.set_index("queue")
    assert by_queue.loc["invoices", "growth_per_second"] == pytest.approx(5.0)
    assert by_queue.loc["invoices", "status"] == "▲ falling behind"
    assert by_queue.loc["parcels", "growth_per_second"] == 0.0
    columns = json.loads(test.dataframe[0].proto.columns)
    assert "last five minutes" in columns["growth_per_second"]["help"]
    for name in ("publish_per_second", "deliver_per_second"):
        assert "RabbitMQ's own rate" in columns[name]["help"]


def test_the_search_leads_to_queues(open_page: Open, filled: Path, tmp_path: Path) -> None:
    view = open_page(add_rabbit(filled, tmp_path / "rabbit", NOW)).session_state["_view"]
    found = directory.entries(view).filter(pl.col("kind") == "queue")
    assert {"parcels", "invoices.dead"} <= set(found["name"])
    assert found.select("page", "parameter", "value").unique().rows() == [
        ("queues", "rabbitmq", "rabbit")
    ]


def test_without_a_rabbitmq_the_page_says_how_to_name_one(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "queues")
    calm(test)
    assert test.title[0].value == "No RabbitMQ is watched"
    assert "rabbitmq:\n  - name: rabbit" in test.code[0].value


@pytest.mark.parametrize(
    "rows", [pytest.param(True, id="older rows"), pytest.param(False, id="none")]
)
def test_a_failed_poll_is_told(open_page: Open, filled: Path, tmp_path: Path, rows: bool) -> None:
    said = "http://127.0.0.1:15672 cannot be reached"
    test = open_page(add_rabbit(filled, tmp_path / "rabbit", NOW, rows=rows, error=said), "queues")
    assert [one.value for one in test.exception] == []
    assert "The newest poll failed" in test.warning[0].value
    assert "cannot be reached" in test.warning[0].value
    assert (test.title[0].value == "No queue is known yet") is not rows


def test_a_table_that_cannot_be_read_is_named(
    open_page: Open, filled: Path, tmp_path: Path
) -> None:
    folder = add_rabbit(filled, tmp_path / "rabbit", NOW)
    for file in (folder / "lake" / "bronze" / "queues").rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:50])
    test = open_page(folder, "queues")
    calm(test)
    assert test.title[0].value == "The queues cannot be shown"
    assert "The table queues cannot be read" in test.error[0].value
