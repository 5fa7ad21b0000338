"""The pages of topics, brokers, dead letters and monitoring health."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
import streamlit as st
from deltalake import write_deltalake
from streamlit.testing.v1 import AppTest

from app.style.columns import DASH, NONE
from app.style.format import duration
from config.load import load
from lake.schemas.current import OPEN_ALERTS, READERS
from lake.schemas.tables import (
    CLUSTER_HISTORY,
    COLLECTIONS,
    CONTRIBUTORS,
    GROUP_HISTORY,
)
from lake.storage.append import conform
from lake.storage.store import Lake
from tests.app.conftest import NOW
from tests.app.figures import figure, metric, names
from tests.app.generated import write_gold
from tests.app.test_pages import calm, texts
from tests.app.world import CLUSTER

Open = Callable[..., AppTest]


def test_a_topic_says_first_who_loses_data_of_it(open_page: Open, alarmed: Path) -> None:
    topic = "orders"
    lake = Lake(load(alarmed / "headroom.yaml").lake)
    readers = lake.current.read(READERS, CLUSTER)
    assert readers is not None
    reader = readers.filter(topic=topic)["group"][0]
    loses = (pl.col("topic") == topic) & (pl.col("group") == reader)
    lost = pl.when(loses).then(pl.lit("lost")).otherwise("loss").alias("loss")
    lake.current.replace(READERS, CLUSTER, readers.with_columns(lost))
    alerts = lake.current.read(OPEN_ALERTS, CLUSTER)
    assert alerts is not None
    labels = [{"key": "cluster", "value": CLUSTER}, {"key": "group", "value": reader}]
    alert = alerts.head(1).with_columns(
        fingerprint=pl.lit("loses"),
        what=pl.lit(f"{reader} loses data"),
        labels=pl.lit(pl.Series([labels])),
        state=pl.lit("firing"),
    )
    lake.current.replace(OPEN_ALERTS, CLUSTER, pl.concat([alerts, alert]))
    test = open_page(alarmed, "topic", topic=topic)
    calm(test)
    said = [one.value.replace("\\", "") for one in test.markdown]
    assert any(one.startswith(f"{topic} deletes messages before {reader} reads") for one in said)
    assert "losing data" in texts(test)
    links = [one.proto.label for one in test.get("page_link")]
    assert any(f"{reader} loses data" in one.replace("\\", "") for one in links), links


def test_a_topic_with_a_hot_partition(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "topic", topic="sessions")
    calm(test)
    bars = figure(test, "topic-partitions")["data"][0]
    assert max(zip(bars["y"], bars["x"], strict=True))[1] == "4"
    assert len(set(bars["marker"]["color"])) == 2
    assert test.dataframe[0].value["group"].to_list() == ["sessions"]


def test_a_topic_lists_its_own_changes_in_its_own_words(open_page: Open, filled: Path) -> None:
    (changes,) = (
        one.value
        for one in open_page(filled, "topic", topic="payments").dataframe
        if {"at", "what"} <= set(one.value.columns)
    )
    assert changes["what"].to_list() == ["leaders moved: broker 2 → broker 1"]
    assert changes["detail"].to_list() == ["partitions of payments, and of 1 other topic"]


def test_rates_of_topics_say_of_how_long_they_are_the_mean(open_page: Open, filled: Path) -> None:
    assert "Rates are means of 5 min" in texts(open_page(filled, "topics"))


@pytest.mark.parametrize("generated", [None, True])
def test_what_changed_in_a_week_comes_last_and_is_folded_where_it_was_generated(
    open_page: Open, filled: Path, tmp_path: Path, generated: bool | None
) -> None:
    folder = Path(shutil.copytree(filled, tmp_path / "changed"))
    lake = Lake(load(folder / "headroom.yaml").lake)
    rows = pl.DataFrame(
        [
            {
                **{"cluster": CLUSTER, "topic": "orders", "as_of": NOW, "generated": generated},
                **{"span_seconds": 7 * 86400, "rank": 1, "share_ratio": 1.0},
                **{"before_per_second": 2.0, "now_per_second": 3.0, "change_per_second": 1.0},
            }
        ]
    )
    write_deltalake(lake.uri(CONTRIBUTORS), conform(CONTRIBUTORS, rows).to_arrow(), mode="append")
    test = open_page(folder)
    calm(test)
    last = [one.value for one in test.header][-1]
    folded = [one.label for one in test.expander if one.label.startswith("What changed most")]
    assert (last, folded) == (
        ("Changes in the last hour", ["What changed most in a week (generated history)"])
        if generated
        else ("What changed most in a week", [])
    )


def test_overview_draws_the_sum_of_groups_without_a_line(open_page: Open, filled: Path) -> None:
    test = open_page(filled)
    lines = {one["name"]: one for one in figure(test, "lag-by-group")["data"]}
    (others,) = (one for name, one in lines.items() if name.startswith("others ("))
    assert len(lines) == 6
    assert others["y"][-1] is not None


def test_overview_and_topics_say_the_same_of_what_arrives(open_page: Open, filled: Path) -> None:
    overview, topics = open_page(filled), open_page(filled, "topics")
    assert topics.title[0].value == f"8 topics receive {metric(overview, 'Arriving')}"
    tile = next(one for one in overview.metric if one.label == "Arriving")
    internal = tile.delta.removeprefix("and ").removesuffix(" internal")
    assert f", without {internal} in internal topics." in texts(topics)


def test_the_number_out_of_sync_has_the_colour_of_it_and_lag_grows_from_one_start(
    open_page: Open, filled: Path
) -> None:
    tiles = []
    for chosen in ("1h", "7d"):
        test = open_page(filled, range=chosen)
        assert metric(test, "Out of sync").startswith(":orange[")
        tiles.append(next(one.delta for one in test.metric if one.label == "Lag"))
    assert tiles[0] == tiles[1], "tiles are of the present, whatever range is chosen"


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
        "partitions_of": "1 of 3",
        "lacking": "2",
        "one_more": DASH,
    }
    at_risk = topics["partitions_of"].str.split(" ").str[0].astype(int)
    assert at_risk.sum() == len(partitions)
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
    assert rows.loc["orders.dlq", "left_seconds"] == NONE, "redriven in time"
    assert 0 < rows.loc["orders.dlq", "origin_ratio"] < 0.01
    assert metric(test, "Deleted in") == DASH
    assert test.dataframe[1].value["reason"].to_list()[0] == "ValueError"
    assert "Why, in the last hour" in [one.value for one in test.header]
    test.selectbox(key="name").set_value("connect-sink-errors").run()
    calm(test)
    assert metric(test, "Unprocessed") == DASH
    assert names(test, "letters-exceptions") == ["DataException"]


def test_health_names_failing_sections_and_what_to_do(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "health")
    rows = test.dataframe[0].value.set_index("section")
    assert rows.loc["groups", "label"] == ["▲ partial"]
    assert rows.loc["brokers", "label"] == ["✓ ok"]
    folds = [one.label for one in test.expander]
    assert not [one for one in folds if "section" in one or "Polls" in one]
    assert any(" tables, " in one.label for one in test.expander), "folded: all are readable"
    assert "see Brokers and replication" in texts(test)


@pytest.mark.parametrize(
    ("page", "parameters", "pair"),
    [
        pytest.param("health", {}, ("health-cadence", "health-durations"), id="health"),
        pytest.param("overview", {}, ("lag-by-group", "flows"), id="overview"),
        pytest.param(
            "topic", {"topic": "sessions"}, ("topic-arriving", "topic-partitions"), id="topic"
        ),
    ],
)
def test_charts_beside_each_other_begin_at_one_height_and_are_equally_high(
    open_page: Open, filled: Path, page: str, parameters: dict[str, str], pair: tuple[str, str]
) -> None:
    test = open_page(filled, page, **parameters)
    left, right = (figure(test, key)["layout"] for key in pair)
    assert left["margin"]["t"] == right["margin"]["t"]
    # What stands below a plot, such as the day below its hours, is no part of it.
    assert left["height"] - left["margin"]["b"] == right["height"] - right["margin"]["b"]


def all_collected(
    filled: Path,
    folder: Path,
    with_more: Callable[[pl.DataFrame], pl.DataFrame] = lambda rows: rows,
) -> Path:
    """Copy a lake, with those sections of its newest poll alone that did not fail, and more."""
    shutil.copytree(filled, folder)
    lake = Lake(load(folder / "headroom.yaml").lake)
    rows = with_more(lake.read(COLLECTIONS, cluster=CLUSTER).filter(pl.col("status") == "ok"))
    newest = pl.col("observed_at").max().over("section") == pl.col("observed_at").max()
    write_deltalake(lake.uri(COLLECTIONS), rows.filter(newest).to_arrow(), mode="overwrite")
    return folder


def test_health_names_log_directories_of_a_missing_broker(
    open_page: Open, filled: Path, tmp_path: Path
) -> None:
    def with_disks(rows: pl.DataFrame) -> pl.DataFrame:
        brokers = rows.filter(pl.col("section") == "brokers")
        return pl.concat([rows, brokers.with_columns(section=pl.lit("log_directories"))])

    test = open_page(all_collected(filled, tmp_path / "disks", with_disks), "health")
    calm(test)
    title = "Log directories of broker 2, which is missing: not known since "
    assert test.title[0].value.replace("\\", "").startswith(title)
    rows_shown = test.dataframe[0].value.set_index("section")
    assert rows_shown.loc["log_directories", "label"] == "▲ partial"
    assert "Start the broker again" in texts(test)


def test_health_is_folded_where_all_is_collected(
    open_page: Open, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = all_collected(filled, tmp_path / "well")
    test = open_page(folder, "health")
    calm(test)
    folds = {one.label for one in test.expander}
    assert "5 sections, all collected" in folds
    assert "Polls over time" not in folds, "a steady line is seen at once"
    assert "Alerting reads all rules" in texts(test)
    lower = figure(test, "health-cadence")["layout"]["height"]
    assert lower < figure(open_page(filled, "health"), "health-cadence")["layout"]["height"]
    monkeypatch.setattr(type(st.context), "headers", {"User-Agent": "Mobile"})
    assert "Polls over time" in {one.label for one in open_page(folder, "health").expander}


def test_late_history_is_said_on_each_page_in_charts_and_with_what_to_do(
    open_page: Open, filled: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "late"
    shutil.copytree(filled, folder)
    lake = Lake(load(folder / "headroom.yaml").lake)
    written = NOW.replace(second=0) - timedelta(minutes=30)
    for table in (CLUSTER_HISTORY, GROUP_HISTORY):
        rows = lake.read(table).filter(pl.col("window_start") < written)
        shutil.rmtree(lake.uri(table))
        write_gold(lake, table, rows)
    test = open_page(folder, "health")
    calm(test)
    by = duration((NOW - timedelta(seconds=2) - written).total_seconds())
    assert texts(test).count(f"history is behind by {by}") == 1
    assert f"**history**: behind by {by}" in texts(test)
    assert "spark_metrics run starts it" in texts(test)
    group = open_page(folder, "group", group="payments")
    calm(group)
    assert f"history is behind by {by}" in texts(group)
    assert any(": history is late." in one.value for one in group.caption)
    assert "history is behind" not in texts(open_page(filled, "health"))


def test_what_two_groups_read_is_consumed_by_each(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "overview")
    assert names(test, "flows") == ["arriving, internal topics too", "consumed, once a group"]
