"""The pages of consumer groups: their list, and one group."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
import streamlit as st
import yaml
from deltalake import write_deltalake
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block

from app.style.charts.colours import colour_of
from app.style.theme import LIGHT
from app.ui import group_list
from config.load import load
from lake.schemas.tables import (
    CHANGES,
    GROUP_OFFSETS,
    GROUPS,
    LAG_ANOMALIES,
    PARTITIONS,
    SEASONALITY,
)
from lake.storage.append import conform
from lake.storage.store import Lake
from tests.app import generated
from tests.app.conftest import NOW
from tests.app.figures import ROOM, figure, metric, names
from tests.app.test_pages import calm, texts
from tests.app.world import CLUSTER

Open = Callable[..., AppTest]
PER_SECOND = "messages a second"
OF_GROUP, OF_TOPIC = ["compare", "group-time-lag-log", "marks"], ["compare", "topic-log", "marks"]


def test_the_list_of_groups_is_worst_first_with_its_lags(open_page: Open, filled: Path) -> None:
    rows = open_page(filled, "groups").dataframe[0].value
    assert rows["group"].to_list()[:2] == ["archive", "search-indexer"]
    by_group = rows.set_index("group")
    assert by_group.loc["payments", "lag"] > 400_000
    assert by_group.loc["reports", "known_of"] == "0 of 12"
    assert by_group["lag"].isna().to_dict()["reports"]


def test_what_is_looked_up_of_groups_is_in_their_file_and_no_column_is_cut(
    open_page: Open, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: dict[str, str] = {}
    monkeypatch.setattr(
        st, "download_button", lambda label, data, *, key, **look: files.update({key: data()})
    )
    total = (pl.col("reason").fill_null("") + " 77 lost.").alias("reason")
    monkeypatch.setattr(
        group_list, "with_total_losses", lambda some, lost: some.with_columns(total)
    )
    test = open_page(filled, "groups")
    assert "objective_seconds" not in test.dataframe[0].value
    assert "; objective 5 min" in texts(test)
    file = pl.read_csv(files["groups-table-csv"].encode())
    assert file.columns[-6:] == [
        *("drained in (seconds)", "members", "partitions", "kind", "idle", "objective (seconds)")
    ]
    by_group = {row["group"]: row for row in file.iter_rows(named=True)}
    assert all("77 lost." in one for one in file["why"]), "the file has the losses that are shown"
    assert by_group["payments"]["members"] == 4
    assert by_group["clicks-enricher"]["idle"] == 2
    assert set(file["objective (seconds)"]) == {300.0}
    columns = json.loads(test.dataframe[0].proto.columns)
    widths = {name: column["width"] for name, column in columns.items() if "width" in column}
    shown = list(test.dataframe[0].value)
    # Windows of 1,280 and 1,440 pixels leave so much beside the menu.
    assert sum(widths[one] for one in shown[: shown.index("advice") + 1]) <= 944
    assert ROOM - 20 <= sum(widths[one] for one in shown) <= ROOM
    assert "last five minutes" in columns["label"]["help"], "of what time a status is"
    assert columns["group"]["label"] == "\u2002group", "begins where the links below it do"
    assert columns["reason"]["label"] == "why"
    assert shown[1:3] == ["label", "since"]
    assert shown.index("reason") < shown.index("advice") < shown.index("arrival_per_second")
    assert max(widths, key=lambda name: widths[name]) == "reason"


def test_a_group_has_the_same_colour_on_its_page_as_beside_others(
    open_page: Open, filled: Path
) -> None:
    test = open_page(filled, "group", group="payments")
    own = colour_of("payments", LIGHT)
    for key, name in (("group-lag", "lag"), ("group-time-lag", "time lag")):
        (line,) = (one for one in figure(test, key)["data"] if one["name"] == name)
        assert line["line"]["color"] == own


def blocks(block: Block) -> Iterator[Block]:
    yield block
    for child in block.children.values():
        if isinstance(child, Block):
            yield from blocks(child)


def titles_of(block: Block) -> list[str]:
    """Return the titles that stand in a block itself."""
    return [one.value for one in block.children.values() if one.type == "header"]


def controls_of(block: Block) -> list[str | None]:
    """Return the keys of the choices in a block, as they stand beside each other."""
    found: list[str | None] = []
    for child in block.children.values():
        if isinstance(child, Block):
            found += controls_of(child)
        elif child.type in ("button_group", "toggle"):
            found.append(child.key)
    return found


@pytest.mark.parametrize(
    ("page", "named", "title", "unit", "controls"),
    [
        ("group", {"group": "payments"}, "Time lag", "minutes", OF_GROUP),
        ("topic", {"topic": "sessions"}, "Arriving", PER_SECOND, OF_TOPIC),
        ("topics", {}, "Arriving by topic", PER_SECOND, ["topics-log", "marks"]),
        ("overview", {}, "Lag by group", "messages waiting", ["overview-log", "marks"]),
        ("dead_letters", {}, "Arriving", "messages a minute", ["marks"]),
        ("brokers", {}, "Partitions at risk", None, ["marks"]),
    ],
)
def test_the_first_chart_has_its_unit_and_its_choices_in_the_row_of_its_title(
    open_page: Open,
    filled: Path,
    page: str,
    named: dict[str, str],
    title: str,
    unit: str | None,
    controls: list[str],
) -> None:
    test = open_page(filled, page, **named)
    calm(test)
    said = f"{title} :small[:gray[{unit}]]" if unit else title
    (row,) = (one for one in blocks(test.main) if said in titles_of(one))
    assert controls_of(row) == controls


def test_filters_narrow_the_list_and_say_so(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "groups")
    test.text_input(key="groups-search").set_value("PAY").run()
    calm(test)
    assert test.dataframe[0].value["group"].to_list() == ["payments"]
    assert "1 of 10 groups" in texts(test)
    test.text_input(key="groups-search").set_value("no such").run()
    assert not test.dataframe
    assert "No group matches" in texts(test)


def test_a_group_says_on_request_why_it_has_its_status(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "group", group="payments")
    assert "decides:" not in texts(test)
    test.toggle(key="group-why").set_value(True).run()
    calm(test)
    (decides,) = (one.value for one in test.markdown if " decides: " in one.value)
    assert "falling behind" in decides
    assert decides.startswith("Of 12 partitions ")
    shown = next(one.value for one in test.dataframe if "compared" in one.value)
    of_group = shown["of"] == "the group"
    assert of_group.sum() == 4, "three sums, and the members"
    assert shown["of"][~of_group].nunique() == 1, "of the partition that decides"
    by_name = shown.set_index("name")
    assert by_name.loc["age of the oldest of them", "compared"].startswith("objective 5 min")


def test_a_group_that_falls_behind(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "group", group="payments")
    calm(test)
    assert test.title[0].value == "payments"
    said = texts(test).replace("\\", "")
    assert re.search(r"messages, evenly on all 12 partitions: .* arrive, .* consumed", said)
    assert "Retention reaches" not in texts(test), "weeks away"
    assert metric(test, "Drained in") == "not now"
    assert metric(test, "Members") == "4"
    members, partitions = (frame.value for frame in test.dataframe[:2])
    assert members["assigned_partitions"].to_list() == [3, 3, 3, 3]
    assert sorted(partitions["partition"]) == list(range(12))
    assert names(test, "group-flow") == ["arriving", "consumed"]
    told = next(one.proto.alt for one in test.get("plotly_chart") if "group-flow" in one.proto.id)
    assert ". arriving: last " in told and "; consumed: last " in told and ", highest " in told


@pytest.mark.parametrize(("page", "name"), [("group", "payments"), ("topic", "orders")])
def test_a_page_about_one_thing_leads_back_to_the_list(
    open_page: Open, filled: Path, page: str, name: str
) -> None:
    test = open_page(filled, page, **{page: name})
    (back,) = [one for one in test.get("page_link") if one.proto.icon == ":material/arrow_back:"]
    assert back.proto.page == f"{page}s"
    columns = [one for one in blocks(test.main) if one.type == "column"]
    beside = [one for one in columns if back.proto in [link.proto for link in one.get("page_link")]]
    assert [one.label for one in beside[0].selectbox] == [page.capitalize()], "one row with it"
    assert f"href$='/{page}s'" in "".join(one.proto.body for one in test.get("html"))


def test_charts_of_a_group_stand_beside_its_advice_without_a_gap(
    open_page: Open, filled: Path
) -> None:
    test = open_page(filled, "group", group="payments")
    calm(test)
    columns = [one for one in blocks(test.main) if one.type == "column"]
    titles = [
        [title.split(" :small")[0] for one in blocks(column) for title in titles_of(one)]
        for column in columns
    ]
    left, right = (one for one in titles if {"Time lag", "Advice"} & set(one))
    assert left[:2] == ["Time lag", "Lag"]
    assert right[0] == "Advice"
    drawn = [title for one in blocks(test.main) for title in titles_of(one)]
    for name in ("Arriving and consumed", "partition", "Expected to arrive"):
        assert len([one for one in drawn if name in one.split(" :small")[0]]) == 1


def test_a_stuck_partition_stands_out(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "group", group="search-indexer")
    calm(test)
    assert "No commit on 1 of 12 partitions" in texts(test)
    heat = figure(test, "group-heat")["data"][0]
    peaks = {
        label: max((cell for cell in row if cell is not None), default=0)
        for label, row in zip(heat["y"], heat["z"], strict=True)
    }
    assert max(peaks, key=lambda label: peaks[label]) == "7"
    assert sorted(peaks, key=int) == [str(number) for number in range(12)]


def test_what_is_unknown_says_why_and_is_not_zero(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "group", group="reports")
    calm(test)
    assert metric(test, "Lag") == "unknown"
    assert metric(test, "Members") == "unknown"
    assert "its coordinator, broker 2, does not answer" in texts(test)
    assert "The members could not be read" in texts(test)
    lag = figure(test, "group-lag")["data"][0]["y"]
    assert lag[-1] is None
    assert 0 not in lag


def test_rates_of_what_was_polled_once_say_what_they_take(
    open_page: Open, filled: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(filled, tmp_path / "new"))
    settings = load(folder / "headroom.yaml")
    lake = Lake(settings.lake)
    for table in (GROUPS, GROUP_OFFSETS, PARTITIONS):
        newest = lake.latest(table, cluster=CLUSTER, now=NOW, within=timedelta(minutes=5))
        of = "topic" if table is PARTITIONS else "group"
        some = newest.filter(pl.col(of) == ("orders" if of == "topic" else "payments"))
        renamed = [name for name in ("group", "topic") if name in some.columns]
        lake.append(table, some.with_columns(pl.lit("new").alias(name) for name in renamed))
    generated.evaluate(settings, NOW)
    group = open_page(folder, "group", group="new")
    calm(group)
    assert metric(group, "Arriving, 5 min") == "unknown"
    assert "Rates are not known yet: they take 3 polls over 1 min. The last minutes" in texts(group)
    topic = open_page(folder, "topic", topic="new")
    calm(topic)
    assert metric(topic, "Arriving, 5 min") == "unknown"
    assert "Rates are not known yet: they take 2 polls. The last minutes have 1:" in texts(topic)


def test_missing_samples_stay_a_gap(open_page: Open, filled: Path) -> None:
    lag = figure(open_page(filled, "group", group="payments"), "group-lag")["data"][0]
    assert None in lag["y"]
    assert lag["connectgaps"] is False


def test_idle_members_are_listed_as_idle(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "group", group="clicks-enricher")
    members = test.dataframe[0].value
    assert members["does"].to_list().count("idle") == 2
    assert metric(test, "Members") == "8"


@pytest.mark.parametrize(("page", "parameter"), [("group", "group"), ("topic", "topic")])
def test_a_name_that_is_not_there_is_said_so(
    open_page: Open, filled: Path, page: str, parameter: str
) -> None:
    test = open_page(filled, page, **{parameter: "gone"})
    calm(test)
    assert test.title[0].value == f"This {parameter} is not known"
    assert "did not find" in texts(test)


def test_filters_of_the_address_are_taken_and_kept(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "groups", **{"groups-search": "pay"})
    calm(test)
    assert test.dataframe[0].value["group"].to_list() == ["payments"]
    test.switch_page("views/topics/page.py").run()
    test.switch_page("views/groups/page.py").run()
    assert test.text_input(key="groups-search").value == "pay"


def test_a_group_is_compared_with_what_is_usual_and_with_the_day_before(
    open_page: Open, filled: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(filled, tmp_path / "seasons"))
    lake = Lake(load(folder / "headroom.yaml").lake)
    rows = pl.DataFrame(
        [
            {
                **{"cluster": CLUSTER, "subject": "group", "name": "payments"},
                **{"metric": metric, "hour_of_week": hour, "as_of": NOW},
                **{"p05": 30.0, "p50": 43.0, "p95": 60.0, "status": "ok"},
            }
            for hour in range(168)
            for metric in ("arrival_per_second", "lag_max")
        ]
    )
    write_deltalake(lake.uri(SEASONALITY), conform(SEASONALITY, rows).to_arrow(), mode="append")
    unusual = pl.DataFrame(
        [
            {
                **{"cluster": CLUSTER, "group": "payments", "lag_max": lag, "usual": 43.0},
                "as_of": NOW,
                **{"window_start": NOW - timedelta(hours=hours), "score": lag / 43.0},
            }
            for hours, lag in ((2, 234), (3, 700), (4, 300), (5, 200))
        ]
    )
    write_deltalake(
        lake.uri(LAG_ANOMALIES), conform(LAG_ANOMALIES, unusual).to_arrow(), mode="append"
    )
    rise = {
        **{"cluster": CLUSTER, "metric": "arrival_per_second", "kind": "step", "as_of": NOW},
        **{"changed_at": NOW - timedelta(days=2), "before": 43.0, "after": 61.0, "ratio": 1.42},
    }
    changes = pl.DataFrame(
        [
            {**rise, "subject": subject, "name": name}
            for subject, name in (("group", "payments"), ("topic", "payments"))
        ]
    )
    write_deltalake(lake.uri(CHANGES), conform(CHANGES, changes).to_arrow(), mode="append")
    test = open_page(folder, "group", group="payments", range="6h", compare="yesterday")
    calm(test)
    assert [one.value for one in test.caption if "Changed within a week: arriving" in one.value]
    assert next(one for one in test.metric if one.label == "Lag").delta == "usually up to 60"
    (said,) = [one.value for one in test.caption if "Unusual hours" in one.value]
    assert "700, usually 43" in said
    assert said.endswith("; 1 more.")
    arriving = next(one for one in test.metric if one.label == "Arriving, 5 min")
    assert arriving.delta == "usually 43/s"
    assert names(test, "group-flow")[0] == "usual"
    assert any((one or "").startswith("objective") for one in names(test, "group-time-lag"))
    # The lake holds six hours by the minute: of yesterday there is nothing to draw.
    assert "yesterday" not in names(test, "group-flow")
    test = open_page(folder, "group", group="payments", range="7d", compare="yesterday")
    assert "yesterday" in names(test, "group-lag")


def test_an_objective_that_retention_makes_void_is_said_beside_it(
    open_page: Open, filled: Path, tmp_path: Path
) -> None:
    said = "inventory keeps messages for 1 h, less than the group's objective of 2 h"
    assert not any(said in one.value for one in open_page(filled, "group", group="stock").caption)
    folder = Path(shutil.copytree(filled, tmp_path / "objective"))
    path = folder / "headroom.yaml"
    content = yaml.safe_load(path.read_text())
    content["scaling"] = {**content.get("scaling", {}), "time_lag_seconds": 7200}
    path.write_text(yaml.safe_dump(content))
    test = open_page(folder, "group", group="stock")
    calm(test)
    assert any(said in one.value.replace("\\", "") for one in test.caption)
