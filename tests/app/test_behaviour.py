"""What the pages show in detail, and how choices and links carry over."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import streamlit as st
from deltalake import write_deltalake
from streamlit.testing.v1 import AppTest

from app.style.charts.base import PAGE_AXIS
from app.ui.tables import DASH, NONE
from config.load import load
from lake.schemas.grain import PARTITIONED_BY
from lake.schemas.tables import (
    CHANGES,
    CLUSTER_HISTORY,
    COLLECTIONS,
    DEAD_LETTER_HISTORY,
    GROUP_HISTORY,
    LAG_ANOMALIES,
    SEASONALITY,
)
from lake.storage.append import conform
from lake.storage.store import Lake
from tests.app import generated
from tests.app.conftest import NOW
from tests.app.test_pages import calm, texts
from tests.app.world import CLUSTER

Open = Callable[..., AppTest]


def figure(test: AppTest, key: str) -> dict[str, Any]:
    """Return a chart of the page by its key."""
    for element in test.get("plotly_chart"):
        if key in element.proto.id:
            return json.loads(element.proto.spec)
    raise AssertionError(f"no chart {key}")


def names(test: AppTest, key: str) -> list[str]:
    return [trace.get("name") for trace in figure(test, key)["data"]]


def metric(test: AppTest, label: str) -> str:
    return next(one.value for one in test.metric if one.label == label)


def test_the_list_of_groups_is_worst_first_with_its_lags(open_page: Open, filled: Path) -> None:
    rows = open_page(filled, "groups").dataframe[0].value
    assert rows["group"].to_list()[:2] == ["archive", "search-indexer"]
    by_group = rows.set_index("group")
    assert by_group.loc["payments", "members"] == 4
    assert by_group.loc["payments", "lag"] > 400_000
    assert by_group.loc["clicks-enricher", "idle_members"] == 2
    assert by_group["lag"].isna().to_dict()["reports"]


def test_an_objective_that_all_have_is_said_once_and_no_column_is_cut(
    open_page: Open, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: dict[str, str] = {}
    monkeypatch.setattr(
        st, "download_button", lambda label, data, *, key, **look: files.update({key: data()})
    )
    test = open_page(filled, "groups")
    assert "objective_seconds" not in test.dataframe[0].value
    assert "; objective 5 min" in texts(test)
    heading, first = files["groups-table-csv"].splitlines()[:2]
    assert heading.endswith(",objective (seconds)") and first.endswith(",300.0")
    columns = json.loads(test.dataframe[0].proto.columns)
    widths = {name: column["width"] for name, column in columns.items() if "width" in column}
    shown = list(test.dataframe[0].value)
    # Windows of 1,280 and 1,440 pixels leave so much beside the menu.
    for last, room in (("trend", 858), ("consumption_per_second", 1018)):
        assert room - 20 <= sum(widths[one] for one in shown[: shown.index(last) + 1]) <= room
    assert shown.index("reason") < shown.index("advice") < shown.index("trend")
    assert max(widths, key=lambda name: widths[name]) == "reason"


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
    shown = next(one.value for one in test.dataframe if "compared" in one.value)
    by_name = shown.set_index("name")
    assert by_name.loc["age of the oldest of them", "compared"].startswith("objective 5 min")


def test_a_group_that_falls_behind(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "group", group="payments")
    calm(test)
    assert test.title[0].value == "payments"
    assert "falling behind on 12 of 12 partitions" in texts(test)
    assert "Retention reaches" not in texts(test), "weeks away"
    assert metric(test, "Drained in") == "never"
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
    assert f"href$='/{page}s'" in "".join(one.proto.body for one in test.get("html"))


def test_a_stuck_partition_stands_out(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "group", group="search-indexer")
    calm(test)
    assert " waiting on 1 of 12 partitions" in texts(test)
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


def test_a_topic_with_a_hot_partition(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "topic", topic="sessions")
    calm(test)
    bars = figure(test, "topic-partitions")["data"][0]
    assert max(zip(bars["y"], bars["x"], strict=True))[1] == "4"
    assert len(set(bars["marker"]["color"])) == 2
    assert test.dataframe[0].value["group"].to_list() == ["sessions"]


def test_few_topics_are_lines_and_the_others_a_sum(open_page: Open, filled: Path) -> None:
    drawn = names(open_page(filled, "topics"), "topics-arriving")
    assert len(drawn) == 6 and drawn[-1].startswith("others (")


def test_brokers_and_partitions_at_risk(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "brokers")
    text = texts(test)
    assert "1 partition without a leader" in text
    assert "acks=all are refused" in text.replace("\\", "")
    topics, partitions = (one.value for one in test.dataframe[1:3])
    assert topics.iloc[0].to_dict() == {
        "topic": "audit",
        "label": ["✖ offline"],
        "partitions": 1,
        "of": 3,
        "lacking": "2",
        "one_more": DASH,
    }
    assert topics["partitions"].sum() == len(partitions)
    assert (partitions["topic"][0], partitions["partition"][0]) == ("audit", 1)
    assert names(test, "brokers-risk") == ["under-replicated", "under min ISR", "offline"]


def test_what_prometheus_told_of_the_brokers(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "brokers")
    tables = {tuple(one.value.columns): one.value for one in test.dataframe}
    (busy,) = (table for names, table in tables.items() if "request_handler_idle_ratio" in names)
    assert busy.iloc[0][["broker", "request_handler_idle_ratio"]].to_list() == [
        "kafka-1:9404",
        0.21,
    ]
    (clients,) = (table for names, table in tables.items() if "software" in names)
    assert clients.iloc[0].to_list() == ["librdkafka", "2.3.0", 7.0, 1]
    assert "Settings of groups: not read" in [one.value for one in test.caption]


def test_three_depths_of_dead_letters(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "dead_letters")
    rows = test.dataframe[0].value.set_index("name")
    assert rows.loc["orders.dlq", "unprocessed"] == 1204
    assert rows.loc["orders.dlq", "retained"] == 9120
    assert rows.loc["connect-sink-errors", "unprocessed"] == NONE, "nobody redrives: a dash"
    assert rows.loc["connect-sink-errors", "redrive_group"] == "nobody"
    assert test.dataframe[1].value["reason"].to_list()[0] == "ValueError"
    test.selectbox(key="name").set_value("connect-sink-errors").run()
    calm(test)
    assert metric(test, "Unprocessed") == DASH
    assert names(test, "letters-exceptions") == ["DataException"]


def test_scaling_shows_numbers_or_why_there_is_none(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "scaling", advice="group:stock:add_consumers:0")
    assert "what one consumer can process was not measured" in texts(test).replace("\\", "")
    test = open_page(filled, "scaling", advice="topic:inventory:durability:0")
    text = texts(test).replace("\\", "")
    assert "**inventory: 3 → 2 min.insync.replicas**" in text
    assert any("--entity-name inventory" in one.value for one in test.code)


def test_the_group_whose_evidence_is_shown_stands_in_the_address(
    open_page: Open, filled: Path
) -> None:
    test = open_page(filled, "scaling", **{"scaling-group": "stock"})
    calm(test)
    assert test.selectbox(key="scaling-group").value == "stock"
    test.selectbox(key="scaling-group").set_value("archive").run()
    assert test.query_params["scaling-group"] == "archive"
    test.query_params = {"advice": "group:stock:add_consumers:0"}
    assert test.run().selectbox(key="scaling-group").value == "stock", "the row's link names none"


def test_health_names_failing_sections_and_what_to_do(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "health")
    rows = test.dataframe[0].value.set_index("section")
    assert rows.loc["groups", "label"] == ["▲ partial"]
    assert rows.loc["brokers", "label"] == ["✓ ok"]
    folds = [one.label for one in test.expander]
    assert not [one for one in folds if "section" in one or one == "Polls over time"]
    assert any(" tables, " in one.label for one in test.expander), "folded: all are readable"
    assert "see Brokers and replication" in texts(test)


def test_health_is_folded_where_all_is_collected(
    open_page: Open, filled: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "well"
    shutil.copytree(filled, folder)
    lake = Lake(load(folder / "headroom.yaml").lake)
    rows = lake.read(COLLECTIONS, cluster=CLUSTER).filter(pl.col("status") == "ok")
    newest = pl.col("observed_at").max().over("section") == pl.col("observed_at").max()
    write_deltalake(lake.uri(COLLECTIONS), rows.filter(newest).to_arrow(), mode="overwrite")
    test = open_page(folder, "health")
    calm(test)
    assert {"5 sections, all collected", "Polls over time"} <= {one.label for one in test.expander}
    assert "Alerting leaves out no rule" in texts(test)


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
                for line in open_page(of, "groups", range="6h").dataframe[0].value["trend"]
            ),
            default=0,
        )
        for of in (filled, folder)
    )
    assert now <= 1 < was


def test_the_strip_shows_age_and_what_was_not_collected(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "topics")
    assert "not collected: group offsets and groups" in texts(test).replace("\\", "")


def test_the_chosen_range_survives_a_change_of_page(open_page: Open, filled: Path) -> None:
    test = open_page(filled)
    test.segmented_control(key="range").set_value("6h").run()
    # A week is a week: it offers no range, and keeps that of the other pages.
    test.switch_page("views/report/page.py").run()
    assert not [one for one in test.segmented_control if one.label == "Time range"]
    assert "last 6 hours" not in texts(test)
    test.run()
    test.switch_page("views/groups/page.py").run()
    calm(test)
    assert test.session_state["range"] == "6h"
    assert "last 6 hours" in texts(test)


def test_a_range_of_the_address_is_taken(open_page: Open, filled: Path) -> None:
    test = open_page(filled, range="6h")
    calm(test)
    assert "last 6 hours" in texts(test)


def test_a_choice_of_the_range_is_put_into_the_address_and_taken_from_it(
    open_page: Open, filled: Path
) -> None:
    between = "/".join(f"{NOW - timedelta(hours=one):%Y-%m-%dT%H:%M:%SZ}" for one in (3, 2))
    test = open_page(filled, "health", between=between)
    assert "from " in texts(test)
    test.segmented_control(key="range").set_value("6h").run()
    assert (test.query_params["range"], test.query_params["between"]) == ("6h", "")
    assert "last 6 hours" in texts(test)
    # As after the button "back": the address holds what was chosen before.
    test.query_params = {"between": between}
    assert "last 6 hours" not in texts(test.run())
    test.query_params = {"range": "24h"}
    assert "last 24 hours" in texts(test.run())
    assert test.segmented_control(key="range").value == "24h"
    test.query_params = {}
    assert "last 24 hours" in texts(test.run()), "another page was opened"


def test_links_hold_the_cluster_and_the_range(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "group", group="payments")
    links = [one.proto.query_string for one in test.get("page_link")]
    assert links
    assert all("cluster=demo" in one and "range=1h" in one for one in links)


def test_an_invalid_range_falls_back(open_page: Open, filled: Path) -> None:
    test = open_page(filled, range="forever")
    calm(test)
    assert test.session_state["range"] == "1h"


def test_a_fixed_range_of_the_address_is_taken_by_charts_and_kept_by_links(
    open_page: Open, filled: Path
) -> None:
    ends = [NOW - timedelta(hours=3), NOW - timedelta(hours=2)]
    between = "/".join(f"{one:%Y-%m-%dT%H:%M:%SZ}" for one in ends)
    test = open_page(filled, "group", group="payments", between=between)
    calm(test)
    local = [f"{one:%Y-%m-%dT%H:%M:%S}" for one in ends]
    figures = [json.loads(element.proto.spec) for element in test.get("plotly_chart")]
    times = [one for one in figures if one["layout"].get("meta") == PAGE_AXIS]
    assert len(times) >= 4
    for one in times:
        assert one["layout"]["xaxis"]["autorangeoptions"]["include"] == local
        for trace in one["data"]:
            assert len(trace["x"]) > 30
            assert f"{ends[0] - timedelta(seconds=60):%Y-%m-%dT%H:%M:%S}" < min(trace["x"])
            assert max(trace["x"]) < local[1]
    assert test.session_state["_view"].address == {"cluster": CLUSTER, "between": between}


def test_a_range_that_cannot_be_read_says_what_is_expected(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "groups", between="yesterday")
    calm(test)
    assert "2026-01-31T13:00Z" in test.error[0].value.replace("\\", "")
    assert "last hour" in texts(test)


def test_a_paused_page_says_so(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "groups", paused="true")
    calm(test)
    assert test.toggle(key="paused").value
    assert "Paused." in texts(test)


@pytest.mark.parametrize("chosen", ["1h", "6h", "24h", "7d", "90d"])
def test_no_series_has_more_points_than_the_budget(
    open_page: Open, filled: Path, chosen: str
) -> None:
    test = open_page(filled, range=chosen)
    calm(test)
    for element in test.get("plotly_chart"):
        for trace in json.loads(element.proto.spec)["data"]:
            assert len(trace["x"]) <= 510


def test_all_charts_of_a_page_share_their_time_axis(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "group", group="payments")
    axes = {
        tuple(json.loads(element.proto.spec)["layout"]["xaxis"]["autorangeoptions"]["include"])
        for element in test.get("plotly_chart")
    }
    assert len(axes) == 1


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
    assert next(one for one in test.metric if one.label == "Lag").delta == "usually 43"
    (said,) = [one.value for one in test.caption if "Unusual hours" in one.value]
    assert "700, usually 43" in said
    assert said.endswith("; 1 more")
    arriving = next(one for one in test.metric if one.label == "Arriving")
    assert arriving.delta == "usually 43/s"
    assert names(test, "group-flow")[0] == "usual"
    assert any((one or "").startswith("objective") for one in names(test, "group-time-lag"))
    # The lake holds six hours by the minute: of yesterday there is nothing to draw.
    assert "yesterday" not in names(test, "group-flow")
    test = open_page(folder, "group", group="payments", range="7d", compare="yesterday")
    assert "yesterday" in names(test, "group-lag")


@pytest.mark.parametrize(
    ("page", "parameters", "title"),
    [
        ("overview", {}, "(4) Overview · Headroom"),
        ("report", {}, "(4) Week · Headroom"),
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


def test_each_run_tells_the_browser_which_range_and_cluster_are_chosen(
    filled: Path, open_page: Open
) -> None:
    """What a run sent is thrown away where the next one begins before the browser got it."""
    test = open_page(filled, "rules", range="6h")
    for _ in range(2):
        test.run()
        control = test.segmented_control(key="range")
        assert (control.value, control.proto.set_value) == ("6h", True)
        assert test.selectbox(key="cluster").proto.set_value


def test_a_browser_that_shows_no_range_does_not_change_the_address(
    filled: Path, open_page: Open
) -> None:
    test = open_page(filled, "rules", range="6h")
    test.segmented_control(key="range").set_value(None).run()
    assert test.query_params["range"] == "6h"
    assert test.segmented_control(key="range").value == "6h"
