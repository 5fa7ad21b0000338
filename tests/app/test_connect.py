"""The page of Kafka Connect's connectors and mirrors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from app.style.columns import NONE
from config.load import load
from lake.schemas.model import Table
from lake.schemas.tables import CONNECTOR_TASKS, CONNECTORS, MIRROR_OFFSETS
from tests.app import generated
from tests.app.conftest import NOW
from tests.app.connect import add_connect
from tests.app.figures import figure
from tests.app.test_alerts import listed
from tests.app.test_pages import calm, texts

Open = Callable[..., AppTest]


def metric(test: AppTest, label: str) -> str:
    return next(one.value for one in test.metric if one.label == label)


def test_connectors_are_listed_the_worst_first(
    open_page: Open, filled: Path, tmp_path: Path
) -> None:
    test = open_page(add_connect(filled, tmp_path / "connect", NOW), "connect")
    calm(test)
    assert test.title[0].value.replace("\\", "") == (
        "broken, mirror and half do not work as they should"
    )
    said = texts(test).replace("\\", "")
    assert "7 connectors with 7 + unknown tasks, 4 + unknown running, 2 failed" in said
    assert "mirrors are 1\u202f234 messages behind" in said
    assert "the lag of 1 mirrored partition is unknown" in said
    rows = test.dataframe[0].value
    assert rows.columns[0] == "connector"
    assert not json.loads(test.dataframe[0].proto.columns)["connector"].get(
        "pinned"
    )  # it would be grey
    assert rows["connector"].to_list() == [
        "broken",
        "mirror",
        "half",
        "lost",
        "on-hold",
        "fine",
        "silent",
    ]
    by_name = rows.set_index("connector")
    assert by_name["status"].map(lambda label: label[0].split(" ", 1)[1]).to_dict() == {
        "broken": "failed",
        "mirror": "no tasks",
        "half": "partly failed",
        "lost": "unknown",
        "on-hold": "halted",
        "fine": "OK",
        "silent": "OK",
    }
    assert by_name["dead_letters"].to_dict() | {"lost": None} == {
        "broken": "none: stops",
        "mirror": "–",  # noqa: RUF001
        "half": "orders.dlq",
        "lost": None,
        "on-hold": "orders.dlq",
        "fine": "orders.dlq",
        "silent": "dropped",
    }
    assert by_name.loc["mirror", "running"] == "0 of 0 (at most 4)"
    assert by_name.loc["fine", "running"] == "2 of 2"
    assert "why" not in rows.columns, "the list above says why"
    assert "tasks_failed" not in rows.columns, "0 of 1 says it"
    assert by_name.loc["fine", "group"] == "connect-fine"
    assert (metric(test, "Tasks failed"), metric(test, "Without tasks")) == ("2 + unknown", "1")
    assert metric(test, "Failures dropped") == "1"


def test_a_failed_sink_says_since_when_and_what_it_means_for_its_group(
    open_page: Open, filled: Path, tmp_path: Path
) -> None:
    folder = add_connect(filled, tmp_path / "connect", NOW, group="stock")
    generated.evaluate(load(folder / "headroom.yaml"), NOW)
    test = open_page(folder, "connect")
    calm(test)
    rows = test.dataframe[0].value.set_index("connector")
    wrong = {row["what"]: row for row in listed(test)}
    assert wrong["1 task of broken failed"]["when"].startswith("since ")
    assert wrong["mirror has no task: it moves nothing"]["when"] == "", "there is no alert for it"
    assert not any("fine" in what for what in wrong)
    stock = open_page(folder, "group", group="stock")
    deadline = re.search(r"Retention reaches .* \*\*([^*]*)\*\*", texts(stock))
    assert deadline
    said = "It is the consumer group of the Kafka Connect sink connector broken."
    assert said in [one.value for one in stock.caption]
    assert rows.loc["broken", "loss"] == f"loses data {deadline[1]}"
    assert rows.loc["broken", "time_lag_seconds"] > 0
    assert rows.loc["mirror", "time_lag_seconds"] == NONE
    assert f"stock loses data {deadline[1]};" in texts(test)
    lag = figure(test, "connect-lag")["data"]
    assert [one["name"] for one in lag] == ["stock"], "other sinks have no group that is known"
    assert max(one for one in lag[0]["y"] if one is not None) > 0


def test_failed_tasks_say_why_and_how_to_go_on(
    open_page: Open, filled: Path, tmp_path: Path
) -> None:
    test = open_page(add_connect(filled, tmp_path / "connect", NOW), "connect")
    rows = {row["what"].split(" ")[0]: row for row in listed(test)}
    assert list(rows) == ["broken", "mirror", "half"]
    for name in ("broken", "half"):
        assert rows[name]["badge"]["label"] == "○ no alert"
        assert rows[name]["why"].startswith("JsonParseException")
        assert rows[name]["step"].startswith("Fix the cause, then restart it")
        (error,) = rows[name]["more"]
        assert error == (
            f"{name}, task 0 on connect-1:8083: JsonParseException: ConnectException: "
            "Tolerance exceeded"
        )
    assert rows["broken"]["step"].endswith("the command is below.")
    assert [one.value for one in test.code] == [
        f"curl -X POST 'http://127.0.0.1:8083/connectors/{name}/restart"
        "?includeTasks=true&onlyFailed=true'"
        for name in ("broken", "half")
    ], "to be copied, one for each"
    assert len(test.dataframe) == 2, "connectors and mirrors: no table of tasks"
    (mirror,) = test.dataframe[1].value.to_dict("records")
    assert (mirror["topic"], mirror["lag"], mirror["partitions"], mirror["unknown"]) == (
        "ledger",
        1234,
        3,
        1,
    )


def test_without_connect_the_page_is_calm_and_says_how(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "connect")
    calm(test)
    assert not test.error
    assert test.title[0].value == "No Kafka Connect is watched here"
    assert "connect:\n  - name: main" in test.code[0].value


def test_no_connector_is_no_fault(open_page: Open, filled: Path, tmp_path: Path) -> None:
    """Given a poll that saw none, then older rows of a deleted one are not shown."""
    test = open_page(add_connect(filled, tmp_path / "connect", NOW, rows=False), "connect")
    calm(test)
    assert test.title[0].value == "There is no connector"


def test_a_failed_poll_is_told_and_older_rows_stay(
    open_page: Open, filled: Path, tmp_path: Path
) -> None:
    folder = add_connect(filled, tmp_path / "connect", NOW, error="http://x cannot be reached")
    test = open_page(folder, "connect")
    assert [one.value for one in test.exception] == []
    assert len(test.warning) == 2
    assert "could not be read" in test.warning[0].value
    assert "cannot be reached" in test.warning[0].value
    assert test.dataframe[0].value.shape[0] == 7


@pytest.mark.parametrize(
    "table",
    [pytest.param(each, id=each.name) for each in (CONNECTORS, CONNECTOR_TASKS, MIRROR_OFFSETS)],
)
def test_a_table_that_cannot_be_read_is_named(
    open_page: Open, filled: Path, tmp_path: Path, table: Table
) -> None:
    folder = add_connect(filled, tmp_path / "connect", NOW)
    for file in (folder / "lake" / "bronze" / table.name).rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:50])
    test = open_page(folder, "connect")
    calm(test)
    assert test.title
    (said,) = (one.value.replace("\\", "") for one in test.error)
    assert f"The table {table.name} cannot be read" in said
