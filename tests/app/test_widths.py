"""What somebody acts on stands in the width that a table has in a window of 1,440 pixels."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.conftest import NOW, store_of
from tests.app.connect import add_connect
from tests.app.figures import ROOM, assert_fits, assert_fits_whole
from tests.app.queues import add_rabbit

Open = Callable[..., AppTest]
SMALL_ROOM = 944
"""Pixels that a window of 1,280 leaves to a table beside the menu."""


@pytest.mark.parametrize(
    ("page", "last"),
    [
        ("brokers", ("one_more", "preferred_leader", "messages_in_per_second", "detail")),
        ("dead_letters", ("origin",)),
        ("week", ("worst_at",)),
        ("topics", ("label", "partitions")),
        ("alerts", ("detail",)),
    ],
)
def test_tables_fit(open_page: Open, alarmed: Path, page: str, last: tuple[str, ...]) -> None:
    assert_fits(open_page(alarmed, page), *last)


def test_how_bad_alerts_were_fits(open_page: Open, alarmed: Path) -> None:
    test = open_page(alarmed, "alerts")
    shown = [one for one in test.dataframe if "ended_at" in one.value]
    table, settings = list(shown[0].value), json.loads(shown[0].proto.columns)
    before = table[: table.index("detail") + 1]
    assert sum(settings[name]["width"] for name in before) <= ROOM
    assert settings["detail"]["width"] >= 500, "two lines hold most sentences"


@pytest.mark.parametrize(
    "objectives", [pytest.param(False, id="one for all"), pytest.param(True, id="of each its own")]
)
def test_groups_fit_whole(open_page: Open, filled: Path, tmp_path: Path, objectives: bool) -> None:
    folder = Path(shutil.copytree(filled, tmp_path / "groups"))
    if objectives:
        path = folder / "headroom.yaml"
        own = "scaling:\n  objectives:\n    - {groups: payments, time_lag_seconds: 60}\n"
        path.write_text(path.read_text() + own)
    test = open_page(folder, "groups")
    assert ("objective_seconds" in test.dataframe[0].value) is objectives
    assert_fits_whole(test, "reason")


@pytest.mark.parametrize("search", ["billing", ""])
def test_of_groups_a_small_window_lacks_the_trend_alone_and_no_column_goes_by_its_texts(
    open_page: Open, filled: Path, search: str
) -> None:
    test = open_page(filled, "groups", **{"groups-search": search})
    table = test.dataframe[0]
    shown, columns = list(table.value), json.loads(table.proto.columns)
    assert len(table.value) >= 1
    assert shown[-1] == "trend"
    widths = {name: columns[name]["width"] for name in shown}
    at_the_end = ("known_of", "trend")
    assert widths["advice"] == 134
    assert widths["trend"] == (94 if "known_of" in shown else 160)
    assert sum(width for name, width in widths.items() if name not in at_the_end) <= SMALL_ROOM
    assert ROOM - 20 <= sum(widths.values()) <= ROOM


def test_the_steps_of_an_incident_fit(open_page: Open, alarmed: Path) -> None:
    store = store_of(alarmed)
    broker = next(one for one in store.alerts().values() if one.check == "broker_missing")
    store.close()
    test = open_page(alarmed, "incident", alert=broker.id)
    assert_fits(test, "detail")


def test_connectors_and_queues_fit(open_page: Open, filled: Path, tmp_path: Path) -> None:
    connect = open_page(add_connect(filled, tmp_path / "connect", NOW), "connect")
    assert_fits(connect, "topic_names")
    assert_fits_whole(connect, "topic_names")
    queues = open_page(add_rabbit(filled, tmp_path / "rabbit", NOW), "queues")
    assert_fits(queues, "oldest_seconds")
