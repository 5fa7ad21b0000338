"""The page of advice: numbers with their evidence, what-ifs, and what became of advice."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from streamlit.testing.v1 import AppTest

from config.load import load
from lake.schemas.model import Table
from lake.schemas.tables import CAPACITY, FORECASTS, GROUP_OFFSETS, RECOMMENDATIONS
from lake.storage.store import Lake
from tests.app import world_advice
from tests.app.conftest import NOW
from tests.app.figures import assert_fits
from tests.app.test_alerts import listed
from tests.app.test_pages import calm, texts

Open = Callable[..., AppTest]


@pytest.fixture(scope="module")
def advised(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The filled lake with what Spark derives."""
    folder = tmp_path_factory.mktemp("advised") / "lake"
    shutil.copytree(filled, folder)
    world_advice.fill(Lake(load(folder / "headroom.yaml").lake), NOW)
    return folder


CHANGE = "The change, for a person or a pipeline to apply"


def unfolded(test: AppTest) -> dict[str, bool]:
    """Return whether the figures of the card and its lines to run are open."""
    return {
        one.label: one.proto.expanded for one in test.expander if one.label in ("Evidence", CHANGE)
    }


def test_a_change_is_a_row_and_the_chosen_one_has_its_card(open_page: Open, advised: Path) -> None:
    test = open_page(advised, "scaling", advice="group:payments:add_consumers:0")
    calm(test)
    found = {one["id"]: one for one in listed(test)}
    payments = found["group:payments:add_consumers:0"]
    assert payments["link"]["label"].startswith("payments: 4 → ")
    assert "advice=group%3Apayments%3Aadd_consumers%3A0" in payments["link"]["href"]
    assert [one["id"] for one in found.values() if one["is_chosen"]] == [payments["id"]]
    assert all(len(one["why"].split()) <= 18 for one in found.values())
    assert payments["when"] == payments["step"] == "", "the page and the card say it"
    said = texts(test).replace("\\", "")
    assert re.search(r"[Aa]dvised since \d\d:\d\d, \w+ confidence", said)
    assert payments["badge"]["label"].endswith("act now")
    assert unfolded(test) == {"Evidence": False, CHANGE: True}, "what is to be run now is open"
    assert "payments: 4 → " in said and "KEDA would run" in said
    assert "If nothing is done:" in said
    needs = [one.value for one in test.dataframe if "limiting factor" in one.value.columns]
    assert len(needs) == 1 and any("(limits)" in name for name in needs[0]["limiting factor"])
    assert test.selectbox(key="scaling-group").value == "payments"


def test_the_most_urgent_row_is_chosen_until_another_one_is(open_page: Open, advised: Path) -> None:
    test = open_page(advised, "scaling")
    assert [one["id"] for one in listed(test) if one["is_chosen"]] == [listed(test)[0]["id"]]
    assert listed(test)[0]["badge"]["label"].endswith("act now")
    # What is advised on a group changes; the address still leads to the group.
    test = open_page(advised, "scaling", advice="group:payments:hot_partition:0")
    assert "group:payments:add_consumers:0" in [
        one["id"] for one in listed(test) if one["is_chosen"]
    ]
    test = open_page(advised, "scaling", advice="group:gone:add_consumers:0")
    calm(test)
    assert "There is no advice on gone now" in texts(test)


def test_a_group_with_room_saves_consumers_one_step_at_a_time(
    open_page: Open, advised: Path
) -> None:
    test = open_page(advised, "scaling", advice="group:billing:remove_consumers:0")
    said = texts(test).replace("\\", "")
    assert "billing: 4 → 3 consumers" in said
    assert "consumers to save" in test.title[0].value
    assert "too little history" in said
    assert unfolded(test) == {"Evidence": False, CHANGE: False}


def test_changes_behind_a_blocker_wait_for_an_acknowledgement(
    open_page: Open, advised: Path
) -> None:
    test = open_page(advised, "scaling", advice="topic:payments:add_partitions:0")
    assert not any("kafka-topics.sh" in one.value for one in test.code)
    box = next(one for one in test.checkbox if "what may break" in one.label)
    box.check().run()
    calm(test)
    assert any("kafka-topics.sh" in one.value for one in test.code)


def test_evidence_and_what_if_of_the_chosen_group(open_page: Open, advised: Path) -> None:
    test = open_page(advised, "scaling")
    test.selectbox(key="scaling-group").select("payments").run()
    calm(test)
    assert len(test.get("plotly_chart")) == 7  # what-if, load, skew, forecast, consumers, lag
    layouts = [json.loads(one.proto.spec)["layout"] for one in test.get("plotly_chart")[2:]]
    plots = {one["height"] - one["margin"]["t"] - one["margin"]["b"] for one in layouts}
    tops = {one["margin"]["t"] for one in layouts}
    assert len(plots) == len(tops) == 1, "figures beside each other begin and end at one height"
    labels = [one.label for one in test.metric]
    assert {"Most lag", "Longest time lag", "Drained after"} <= set(labels)
    assert " the time lag would have been at most " in texts(test)
    assert "simulated, with what was measured to arrive" in texts(test)
    own = ("**Lag** messages waiting", "**Time lag** minutes")
    said = texts(test).replace(":small[:gray[", "").replace("]]", "")
    assert all(one in said for one in own), "charts below one heading have their own"
    assert "What each partition gets messages a second" in said
    assert "Consumers in the last hour" in said
    assert "Lag in the last hour messages waiting" in said
    (behind,) = (one for one in test.expander if one.label.startswith("Evidence: "))
    assert len(behind.get("plotly_chart")) == 5, "the what-if stands before it, with the card"
    arrivals = test.segmented_control(key="if-arrivals")
    arrivals.set_value("the present rates, held for six hours").run()
    calm(test)
    assert "arrivals go on at the present rates" in texts(test)
    test.selectbox(key="scaling-group").select("billing").run()
    said = texts(test)
    assert "There is no forecast: too little history" in said


def test_a_what_if_is_in_the_address(open_page: Open, advised: Path) -> None:
    of_group = {"advice": "group:payments:keep:0"}
    test = open_page(advised, "scaling", **of_group)
    test.number_input(key="if-consumers").set_value(7).run()
    test.segmented_control(key="if-event").set_value("one consumer is away for an hour").run()
    calm(test)
    asked = {name: one for name, one in test.query_params.items() if name.startswith("if-")}
    assert asked == {"if-consumers": "7", "if-event": "away"}

    shared = open_page(advised, "scaling", **of_group, **asked)
    calm(shared)
    assert shared.number_input(key="if-consumers").value == 7
    assert shared.segmented_control(key="if-event").value == "one consumer is away for an hour"
    shared.selectbox(key="scaling-group").select("stock").run()
    calm(shared)
    assert "if-consumers" not in shared.query_params, "it was asked of another group"


def test_a_what_if_that_cannot_be_is_left_out_in_one_line(open_page: Open, advised: Path) -> None:
    hostile = {"if-consumers": "<b>1</b>", "if-rate": "nan", "if-event": "x", "if-partitions": "0"}
    test = open_page(advised, "scaling", **hostile)
    calm(test)
    (said,) = [one.value for one in test.caption if "The address asks for" in one.value]
    assert all(name in said.replace("\\", "") for name in hostile), said
    assert "<b>" not in said.replace("\\<", "")


def test_a_what_if_without_capacity_asks_for_it(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "scaling")
    calm(test)
    test.selectbox(key="scaling-group").select("payments").run()
    assert "was not measured: that takes times" in texts(test).replace("\\", "")
    test.number_input(key="if-rate").set_value(400.0).run()
    calm(test)
    assert "Drained after" in [one.label for one in test.metric]


def test_a_what_if_begins_with_what_was_seen_at_least(open_page: Open, advised: Path) -> None:
    test = open_page(advised, "scaling")
    test.selectbox(key="scaling-group").select("stock").run()
    calm(test)
    capacity = test.number_input(key="if-rate")
    assert (capacity.label, capacity.value) == ("Messages/s each, at least", 9.0)
    said = texts(test).replace("\\", "")
    assert said.count("at least 9/s of one consumer were seen") >= 2, "evidence and what-if agree"
    assert "One consumer may process more than this" in said
    capacity.set_value(20.0).run()
    assert "One consumer may process more than this" not in texts(test)


def test_a_what_if_says_that_too_little_was_measured(
    open_page: Open, without_history: Path
) -> None:
    test = open_page(without_history, "scaling")
    test.selectbox(key="scaling-group").select("payments").run()
    test.number_input(key="if-rate").set_value(400.0).run()
    calm(test)
    said, key = texts(test), "if-arrivals"
    (why,) = [one.value for one in test.caption if "cannot be replayed" in one.value]
    assert why.endswith("of them were measured, and it takes 30."), why
    assert "at the present rates" in said
    assert "the last hours, as measured" not in test.segmented_control(key=key).options


def test_a_what_if_offers_no_forecast_that_lacks_an_hour(
    open_page: Open, advised: Path, tmp_path: Path
) -> None:
    def said_and_offered(folder: Path) -> tuple[bool, bool]:
        test = open_page(folder, "scaling")
        test.selectbox(key="scaling-group").select("payments").run()
        calm(test)
        offered = test.segmented_control(key="if-arrivals").options
        why = "The forecast cannot be followed: an hour is missing in it."
        return why in texts(test).replace("\\", ""), "the next hours, as forecast" in offered

    folder = tmp_path / "lake"
    shutil.copytree(advised, folder)
    lake = Lake(load(folder / "headroom.yaml").lake)
    DeltaTable(lake.uri(FORECASTS)).delete(f"median = {1200.0 + 250.0 * 3 / 12}")
    assert said_and_offered(advised) == (False, True)
    assert said_and_offered(folder) == (True, False)


def test_what_became_of_advice(open_page: Open, advised: Path) -> None:
    test = open_page(advised, "scaling")
    table = next(one.value for one in test.dataframe if "became" in one.value.columns)
    became = dict(zip(table["subject"], table["became"], strict=True))
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
    test = open_page(folder, "scaling", advice="group:payments:add_consumers:0")
    assert not test.exception
    assert table.name in texts(test).replace("\\", "") or any(
        table.name in one.value for one in test.error
    )


def test_the_week_has_its_incidents_late_groups_and_followed_advice(
    open_page: Open, advised: Path, alarmed: Path
) -> None:
    test = open_page(advised, "week")
    calm(test)
    assert "over their objective" in test.title[0].value
    assert "1 piece of advice followed" in test.title[0].value
    assert "the alerting service has not run" in texts(test)
    assert re.search(r"Longest over it: \w+, \d", texts(test).replace("\\", ""))
    late = next(one.value for one in test.dataframe if "over_seconds" in one.value.columns)
    assert "stock" in set(late["group"])
    assert f"{len(late)} groups over their objective" in test.title[0].value, "its rows"
    assert (late["worst_seconds"] > late["objective_seconds"]).all()
    advice = next(one.value for one in test.dataframe if "became" in one.value.columns)
    assert {"payments", "billing"} <= set(advice["subject"])
    assert advice["change"].str.contains("→").all()
    assert_fits(test, "saved_hours")
    test = open_page(alarmed, "week")
    calm(test)
    fired = {row["what"]: row for row in listed(test)}
    broker = fired["Broker 2 is missing"]
    assert "symptom" in broker["note"] and broker["more"]
    assert broker["link"]["href"].startswith("./incident?")
    drawn = [one.proto.id for one in test.get("plotly_chart")]
    assert any("week-timeline" in name for name in drawn)
    assert any("week-over" in name for name in drawn), "beside its table"
    assert re.search(r"\d+ \w{3} \d\d.{1,2}\d\d to \d+ \w{3} \d\d.{1,2}\d\d\b", texts(test))
    earlier = open_page(alarmed, "week", week="a week earlier")
    calm(earlier)
    assert earlier.title[0].value.startswith("0 incidents")


def test_the_week_of_a_young_lake_says_that_it_was_not_measured(
    open_page: Open, without_history: Path
) -> None:
    test = open_page(without_history, "week")
    calm(test)
    assert "There is no measured history of this week." in texts(test)


def test_scaling_shows_numbers_or_why_there_is_none(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "scaling", advice="group:stock:add_consumers:0")
    assert "What one consumer can process was not measured" in texts(test).replace("\\", "")
    test = open_page(filled, "scaling", advice="topic:inventory:durability:0")
    text = texts(test).replace("\\", "")
    assert "**inventory: 3 → 2 min.insync.replicas**" in text
    assert any("--entity-name inventory" in one.value for one in test.code)


def test_the_row_and_the_what_if_are_of_one_group(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "scaling", advice="group:stock:add_consumers:0")
    calm(test)
    assert test.selectbox(key="scaling-group").value == "stock"
    test.selectbox(key="scaling-group").set_value("archive").run()
    assert test.selectbox(key="scaling-group").value == "archive"
    asked = test.query_params["advice"]
    asked = asked if isinstance(asked, str) else asked[0]
    assert asked.startswith("group:archive:"), "the row of the group is chosen with it"
    assert "scaling-group" not in test.query_params
    said = [one.value.replace("\\", "") for one in test.main.markdown]
    assert any("archive: " in text for text in said), "its card"
    assert not any("stock: " in text for text in said)
    test.query_params = {"advice": "group:stock:add_consumers:0"}
    assert test.run().selectbox(key="scaling-group").value == "stock"
