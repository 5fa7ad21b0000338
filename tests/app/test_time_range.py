"""The choice of the time range, and what charts make of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, timedelta
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from app.style.charts.base import PAGE_AXIS
from app.style.format import clock
from tests.app.conftest import NOW
from tests.app.figures import figure
from tests.app.test_pages import calm, texts
from tests.app.world import CLUSTER

Open = Callable[..., AppTest]


def test_the_chosen_range_survives_a_change_of_page(open_page: Open, filled: Path) -> None:
    test = open_page(filled)
    test.segmented_control(key="range").set_value("6h").run()
    # A week is a week: it offers no range, and keeps that of the other pages.
    test.switch_page("views/week/page.py").run()
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


def test_a_phone_is_in_its_own_zone_and_does_not_say_so(
    open_page: Open, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "schedule: last hour, UTC]" in texts(open_page(filled, "groups"))
    monkeypatch.setattr(type(st.context), "headers", {"User-Agent": "Mobile"})
    assert "schedule: last hour]" in texts(open_page(filled, "groups"))


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
    times = [one for one in figures if one["layout"].get("meta", {}).get("axis") == PAGE_AXIS]
    assert len(times) >= 4
    for one in times:
        assert one["layout"]["xaxis"]["autorangeoptions"]["include"] == local
        for trace in one["data"]:
            assert len(trace["x"]) > 30
            assert f"{ends[0] - timedelta(seconds=60):%Y-%m-%dT%H:%M:%S}" < min(trace["x"])
            # A minute is drawn at its end.
            assert max(trace["x"]) <= local[1]
    assert test.session_state["_view"].address == {"cluster": CLUSTER, "between": between}


@pytest.mark.parametrize(
    ("page", "name", "charts"),
    [
        pytest.param("overview", {}, ("lag-by-group", "flows"), id="overview"),
        pytest.param(
            "group",
            {"group": "payments"},
            ("group-time-lag", "group-lag", "group-flow", "group-heat"),
            id="group",
        ),
        pytest.param("topic", {"topic": "payments"}, ("topic-arriving",), id="topic"),
        pytest.param("brokers", {}, ("brokers-risk",), id="brokers"),
    ],
)
def test_a_zoom_of_minutes_is_drawn_from_samples_from_one_end_to_the_other(
    open_page: Open, filled: Path, page: str, name: dict[str, str], charts: tuple[str, ...]
) -> None:
    ends = [NOW - timedelta(minutes=10), NOW - timedelta(minutes=1)]
    between = "/".join(f"{one:%Y-%m-%dT%H:%M:%SZ}" for one in ends)
    test = open_page(filled, page, between=between, **name)
    calm(test)
    first, last = (f"{one:%Y-%m-%dT%H:%M:%S}" for one in ends)
    for chart in charts:
        drawn = max(figure(test, chart)["data"], key=lambda trace: len(trace["x"]))
        times = drawn["x"]
        if "y" in drawn and "z" not in drawn:
            known = zip(times, drawn["y"], strict=True)
            times = [at for at, value in known if value is not None]
        assert len(times) > 18, f"more than two points a minute: {chart}"
        assert min(times) <= first, chart
        assert max(times) >= last, chart


def test_a_fixed_range_stands_in_its_button_and_no_other_is_chosen(
    open_page: Open, filled: Path
) -> None:
    ends = [NOW - timedelta(hours=3), NOW - timedelta(hours=2)]
    between = "/".join(f"{one:%Y-%m-%dT%H:%M:%SZ}" for one in ends)
    test = open_page(filled, "health", range="6h")
    assert test.segmented_control(key="range").value == "6h"

    def popover() -> str:
        (label,) = [
            one.proto.popover.label
            for one in test.get("popover")
            if one.proto.popover.icon.endswith("date_range:")
        ]
        return str(label)

    assert popover() == "From – to"  # noqa: RUF001
    test.query_params = {"between": between}
    calm(test.run())
    assert test.segmented_control(key="range").value is None
    assert popover() == " – ".join(clock(one, UTC, now=NOW) for one in ends)  # noqa: RUF001
    assert test.session_state["range-first"] == ends[0].replace(tzinfo=None, second=0)
    (back,) = [one for one in test.button if one.label == "Back to now"]
    back.click().run()
    calm(test)
    assert test.segmented_control(key="range").value == "6h"
    assert popover() == "From – to"  # noqa: RUF001


@pytest.mark.parametrize("page", ["overview", "groups", "topics", "brokers", "health", "alerts"])
@pytest.mark.parametrize(
    ("hours", "is_said"), [pytest.param((3, 2), True, id="over"), pytest.param((1, -1), False)]
)
def test_what_is_of_now_beside_a_time_that_is_over_is_said(
    open_page: Open, alarmed: Path, page: str, hours: tuple[int, int], is_said: bool
) -> None:
    between = "/".join(f"{NOW - timedelta(hours=one):%Y-%m-%dT%H:%M:%SZ}" for one in hours)
    test = open_page(alarmed, page, between=between)
    calm(test)
    assert ("of now; charts and history are of the chosen time" in texts(test)) == is_said


def test_a_range_that_cannot_be_read_says_what_is_expected(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "groups", between="yesterday")
    calm(test)
    assert "2026-01-31T13:00Z" in test.error[0].value.replace("\\", "")
    assert "last hour" in texts(test)


def test_an_end_that_was_emptied_is_filled_again(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "groups")
    test.session_state["range-is-open"] = True
    calm(test.run())
    test.session_state["range-first"] = None
    test.run()
    calm(test)
    assert test.session_state["range-first"] is not None


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


def test_the_choice_of_a_time_closes_once_that_is_shown(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "health")
    test.session_state["range-is-open"] = True
    calm(test.run())
    assert test.session_state["range-is-open"] is True, "while the ends are chosen"
    assert test.session_state["range-first"] is not None, "filled, however late it is opened"
    next(one for one in test.button if one.label == "Show this time").click().run()
    calm(test)
    assert test.query_params["between"]
    assert test.session_state["range-is-open"] is False
