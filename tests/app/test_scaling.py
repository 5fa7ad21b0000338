"""The page of advice: numbers with their evidence, what-ifs, and what became of advice."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app.ui.advice_cards import BADGE_STYLES
from config.load import load
from lake.schemas.model import Table
from lake.schemas.tables import CAPACITY, FORECASTS, GROUP_OFFSETS, RECOMMENDATIONS
from lake.storage.store import Lake
from tests.app import world_advice
from tests.app.conftest import NOW
from tests.app.test_pages import calm, texts

Open = Callable[..., AppTest]


@pytest.fixture(scope="module")
def advised(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The filled lake with what Spark derives."""
    folder = tmp_path_factory.mktemp("advised") / "lake"
    shutil.copytree(filled, folder)
    world_advice.fill(Lake(load(folder / "headroom.yaml").lake), NOW)
    return folder


def choose(test: AppTest, beginning: str) -> AppTest:
    """Choose the first piece of advice whose line begins so."""
    box = test.selectbox(key="advice")
    test = box.select(next(one for one in box.options if one.startswith(beginning))).run()
    calm(test)
    return test


def test_every_change_has_a_row_the_most_urgent_first(open_page: Open, advised: Path) -> None:
    test = open_page(advised, "scaling")
    calm(test)
    table = test.dataframe[0].value
    assert table["what"].to_list() == test.selectbox(key="advice").options
    order = [style.label for style in BADGE_STYLES.values()]
    urgency = [order.index(one[0]) for one in table["urgency"]]
    assert len(set(urgency)) > 1
    assert urgency == sorted(urgency)
    payments = table.set_index("what").filter(like="payments: 4 → ", axis=0).iloc[0]
    assert payments["otherwise"]


def test_a_measured_group_gets_a_number_its_needs_and_keda_beside_it(
    open_page: Open, advised: Path
) -> None:
    test = choose(open_page(advised, "scaling"), "payments: 4 → ")
    said = texts(test).replace("\\", "")
    assert "payments: 4 → " in said and "consumers" in said
    assert "KEDA would run" in said
    assert "If nothing is done:" in said
    needs = [one.value for one in test.dataframe if "limiting factor" in one.value.columns]
    assert any("(limits)" in name for table in needs for name in table["limiting factor"])


def test_a_group_with_room_saves_consumers_one_step_at_a_time(
    open_page: Open, advised: Path
) -> None:
    test = choose(open_page(advised, "scaling"), "billing: 4 → 3 consumers")
    said = texts(test).replace("\\", "")
    assert "billing: 4 → 3 consumers" in said
    assert "can be saved" in test.title[0].value
    assert "too little history" in said


def test_changes_behind_a_blocker_wait_for_an_acknowledgement(
    open_page: Open, advised: Path
) -> None:
    test = open_page(advised, "scaling")
    for label in test.selectbox(key="advice").options:
        test = choose(test, label)
        if any("what may break" in one.label for one in test.checkbox):
            break
    assert not any("kafka-topics.sh" in one.value for one in test.code)
    box = next(one for one in test.checkbox if "what may break" in one.label)
    box.check().run()
    calm(test)
    assert any("kafka-topics.sh" in one.value for one in test.code)


def test_evidence_and_what_if_of_the_chosen_group(open_page: Open, advised: Path) -> None:
    test = open_page(advised, "scaling")
    test.selectbox(key="scaling-group").select("payments").run()
    calm(test)
    assert len(test.get("plotly_chart")) == 7  # load, skew, forecast, two of what was tried, if
    labels = [one.label for one in test.metric]
    assert {"Most lag", "Longest time lag", "Consumer-hours"} <= set(labels)
    test.selectbox(key="scaling-group").select("billing").run()
    said = texts(test)
    assert "There is no forecast: too little history" in said


def test_a_what_if_without_capacity_asks_for_it(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "scaling")
    calm(test)
    test.selectbox(key="scaling-group").select("payments").run()
    assert "was not measured yet: give it" in texts(test)
    test.number_input(key="if-capacity-payments").set_value(400.0).run()
    calm(test)
    assert "Consumer-hours" in [one.label for one in test.metric]


def test_what_became_of_advice(open_page: Open, advised: Path) -> None:
    test = open_page(advised, "scaling")
    table = next(one.value for one in test.dataframe if "what became of it" in one.value.columns)
    became = dict(zip(table["subject"], table["what became of it"], strict=True))
    assert became["payments"] == "stands"
    assert became["billing"].startswith("followed") and "worked" in became["billing"]


def test_without_derived_tables_the_page_says_what_is_missing(
    open_page: Open, filled: Path, empty: Path
) -> None:
    test = open_page(filled, "scaling")
    calm(test)
    assert "No advice was written down yet" in texts(test)
    test = open_page(empty, "scaling")
    calm(test)
    assert "Waiting for the first poll" in texts(test)


@pytest.mark.parametrize(
    "table", [CAPACITY, FORECASTS, RECOMMENDATIONS, GROUP_OFFSETS], ids=lambda one: one.name
)
def test_an_unreadable_table_is_shown_and_stops_nothing_else(
    open_page: Open, advised: Path, tmp_path: Path, table: Table
) -> None:
    folder = tmp_path / "cut"
    shutil.copytree(advised, folder)
    for file in (folder / "lake" / table.layer / table.name).rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:100])
    test = open_page(folder, "scaling")
    assert not test.exception
    assert table.name in texts(test).replace("\\", "") or any(
        table.name in one.value for one in test.error
    )
