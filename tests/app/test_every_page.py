"""What all pages have in common."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from deltalake import write_deltalake
from streamlit.proto.GapSize_pb2 import GapSize
from streamlit.testing.v1 import AppTest

from app.style.columns import NONE
from config.load import load
from lake.schemas.grain import PARTITIONED_BY
from lake.schemas.tables import (
    CLUSTER_HISTORY,
    DEAD_LETTER_HISTORY,
    GROUP_HISTORY,
)
from lake.storage.append import conform
from lake.storage.store import Lake
from tests.app import generated
from tests.app.test_pages import calm, texts
from tests.app.world import CLUSTER

Open = Callable[..., AppTest]


def test_lines_in_tables_leave_out_what_was_generated(
    open_page: Open, filled: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "generated"
    shutil.copytree(filled, folder)
    lake = Lake(load(folder / "headroom.yaml").lake)
    for table in (GROUP_HISTORY, CLUSTER_HISTORY, DEAD_LETTER_HISTORY):
        rows = lake.read(table, cluster=CLUSTER).with_columns(generated=pl.lit(value=True))
        write_deltalake(
            *(lake.uri(table), conform(table, rows).to_arrow()),
            mode="overwrite",
            partition_by=list(PARTITIONED_BY),
        )
    was, now = (
        max(
            (
                0 if line is None else len(line)
                for line in open_page(of, "groups", range="24h").dataframe[0].value["trend"]
            ),
            default=0,
        )
        for of in (filled, folder)
    )
    assert now <= 1 < was


def test_what_looks_for_news_moves_nothing_when_it_draws_the_page_again(
    open_page: Open, filled: Path
) -> None:
    first = open_page(filled, "topics").main.children[0]
    # To be drawn again, the timer's part gets an element, and with it the gap of its container.
    assert [one.type for one in first.children.values()] == ["flex_container", "bidi_component"]
    assert first.proto.flex_container.gap_config.gap_size == GapSize.NONE


def test_the_strip_shows_age_and_what_was_not_collected(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "topics")
    assert "not collected: group offsets and groups" in texts(test).replace("\\", "")


def test_links_hold_the_cluster_and_the_range(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "group", group="payments")
    links = [one.proto.query_string for one in test.get("page_link")]
    assert links
    assert all("cluster=demo" in one and "range=1h" in one for one in links)


@pytest.mark.parametrize("page", ["overview", "group", "topic", "brokers", "dead_letters"])
def test_charts_and_tables_have_a_text_for_those_who_do_not_see_them(
    open_page: Open, filled: Path, page: str
) -> None:
    named = {"group": "payments"} if page == "group" else {}
    named |= {"topic": "orders"} if page == "topic" else {}
    test = open_page(filled, page, **named)
    charts = test.get("plotly_chart")
    assert charts
    assert all(chart.proto.alt for chart in charts)
    assert all(table.proto.alt for table in test.dataframe)


def test_with_several_clusters_each_has_a_row_and_a_page(
    open_page: Open, filled: Path, tmp_path: Path
) -> None:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    generated.settings_yaml(tmp_path, clusters=("demo", "second"))
    test = open_page(tmp_path)
    calm(test)
    rows = test.dataframe[0].value.set_index("cluster")
    assert rows.index.to_list() == ["demo", "second"]
    assert rows.loc["demo", "act_now"] == 4
    assert rows["age_seconds"].to_dict()["second"] == NONE
    test.selectbox(key="cluster").set_value("second").run()
    calm(test)
    assert test.title[0].value == "Waiting for the first poll"
    assert test.query_params["cluster"] == "second"
    test.query_params["cluster"] = "demo"
    assert test.run().selectbox(key="cluster").value == "demo"


@pytest.mark.parametrize(
    ("page", "parameters", "title"),
    [
        ("overview", {}, "(4) Overview · Headroom"),
        ("week", {}, "(4) Week · Headroom"),
        ("group", {"group": "payments"}, "(4) payments · Consumer group · Headroom"),
        ("group", {"group": "gone"}, "(4) Consumer group · Headroom"),
        ("topic", {"topic": "orders"}, "(4) orders · Topic · Headroom"),
    ],
)
def test_the_tab_is_named_once_with_what_is_to_be_acted_on(
    open_page: Open,
    filled: Path,
    tab_titles: list[str],
    page: str,
    parameters: dict[str, str],
    title: str,
) -> None:
    test = open_page(filled, page, **parameters)
    tab_titles.clear()
    test.run()
    assert tab_titles == [title]
