"""Two users with different roles on one lake and warm caches: nothing of one reaches the other.

Everything that is sent to the browser is looked through: texts, tables, charts, links, choices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from app.data.viewer import Viewer
from app.data.visible_lake import SHOWN_BY, HiddenNames, VisibleLake
from app.ui.advice import current_advice
from app.ui.frame import login
from config.app import RoleSettings
from config.load import load
from config.parts import Selection
from lake.schemas.current import CHANGED_ADVICE, CLUSTER_COURSE, CLUSTER_STATUS, CURRENT_TABLES
from lake.schemas.tables import TABLES
from tests.app.conftest import NOW, Open
from tests.app.test_pages import calm, texts
from tests.app.world import CLUSTER, GROUPS_HERE, TOPICS_HERE

PAGES = (
    *("overview", "groups", "topics", "brokers", "dead_letters", "connect", "queues", "alerts"),
    *("silences", "rules", "scaling", "health"),
)
DETAILS = [
    *(("group", {"group": group.name}) for group in GROUPS_HERE),
    *(("topic", {"topic": topic.name}) for topic in TOPICS_HERE),
]
ALL = Viewer(name="root@example.com", roles=(RoleSettings(name="all", values=["*"]),))


def viewer(groups: str, topics: str, *, operator: bool = False) -> Viewer:
    role = RoleSettings(
        name="team",
        values=["*"],
        operator=operator,
        groups=Selection(include=[groups]),
        topics=Selection(include=[topics]),
    )
    return Viewer(name="somebody@example.com", roles=(role,))


# shipping reads orders, which its team does not see.
TEAMS = {
    "payments": (viewer("payments", "payments"), {"payments"}),
    "shipping": (viewer("shipping|stock", "inventory"), {"shipping", "stock", "inventory"}),
}


def hidden_names(shown: set[str]) -> set[str]:
    names = {one.name for one in (*GROUPS_HERE, *TOPICS_HERE)} - shown
    # This one stands in the product's own sentences.
    return names - {"__consumer_offsets"}


def sent(node: Any) -> Iterator[bytes]:
    """Everything of a page that a browser gets."""
    proto = getattr(node, "proto", None)
    if proto is not None and hasattr(proto, "SerializeToString"):
        yield proto.SerializeToString()
    children = getattr(node, "children", None)
    for child in (children or {}).values():
        yield from sent(child)


def found_in(test: AppTest, names: set[str]) -> set[str]:
    page = b"\n".join(sent(test._tree)).decode("latin-1")  # noqa: SLF001 (there is no other way)
    return {
        name for name in names if re.search(rf"(?<![\w.-]){re.escape(name)}(?![A-Za-z_])", page)
    }


@pytest.fixture
def as_viewer(monkeypatch: pytest.MonkeyPatch) -> Any:
    def become(one: Viewer) -> None:
        monkeypatch.setattr(login, "viewer", lambda _: one)

    return become


@pytest.fixture(params=TEAMS)
def team(request: pytest.FixtureRequest) -> tuple[Viewer, set[str]]:
    return TEAMS[request.param]


def test_the_search_finds_what_is_shown(open_page: Open, alarmed: Path, as_viewer: Any) -> None:
    as_viewer(ALL)
    every = hidden_names(set())
    found = set()
    for page in ("groups", "topics", "alerts", "scaling"):
        found |= found_in(open_page(alarmed, page), every)
    assert found == every


@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_a_team_what_is_theirs(
    open_page: Open, alarmed: Path, as_viewer: Any, team: tuple[Viewer, set[str]], page: str
) -> None:
    as_viewer(ALL)
    open_page(alarmed, page)  # the caches are warm
    one, shown = team
    as_viewer(one)
    test = open_page(alarmed, page)
    calm(test)
    assert found_in(test, hidden_names(shown)) == set()
    as_viewer(ALL)
    if page == "groups":
        whole = found_in(open_page(alarmed, page), hidden_names(shown))
        assert whole & {group.name for group in GROUPS_HERE}


@pytest.mark.parametrize(("page", "asked"), DETAILS, ids=lambda one: str(one))
def test_a_link_to_what_is_hidden_shows_nothing_of_it(
    open_page: Open, alarmed: Path, as_viewer: Any, page: str, asked: dict[str, str]
) -> None:
    one, shown = TEAMS["shipping"]
    as_viewer(ALL)
    open_page(alarmed, page, **asked)
    current_advice.evaluations().wait()
    as_viewer(one)
    test = open_page(alarmed, page, **asked)
    calm(test)
    (name,) = asked.values()
    # What was asked for stands in the address, and so may in the sentence that it is not known.
    asked_for = {one for one in hidden_names(shown) if one in name}
    assert found_in(test, hidden_names(shown) - asked_for) == set()
    if name not in shown:
        assert not test.get("plotly_chart") and not test.dataframe


def test_counts_are_of_what_is_shown(open_page: Open, alarmed: Path, as_viewer: Any) -> None:
    as_viewer(TEAMS["shipping"][0])
    assert "Of 2 groups" in open_page(alarmed, "groups").title[0].value
    lake = VisibleLake(load(alarmed / "headroom.yaml").lake, TEAMS["shipping"][0])
    (row,) = lake.current.read(CLUSTER_STATUS, CLUSTER).iter_rows(named=True)
    assert row["groups"] is None and row["lag"] is None and row["brokers"] == 3


def test_each_table_says_who_sees_its_rows_or_is_hidden(filled: Path) -> None:
    lake = VisibleLake(load(filled / "headroom.yaml").lake, TEAMS["payments"][0])
    hidden = {"advice_state", "cluster_history", "jobs", "contributors"}
    for table in TABLES.values():
        rows = lake.scan(table, cluster=CLUSTER).collect()
        if table not in SHOWN_BY:
            assert rows.is_empty(), table.name
        for column in ("group", "topic"):
            if column in rows.columns:
                assert set(rows[column].drop_nulls()) <= {"payments"}, table.name
    assert hidden.isdisjoint(table.name for table in SHOWN_BY)
    for table in {*CURRENT_TABLES, CHANGED_ADVICE} - {CLUSTER_COURSE}:
        assert table in SHOWN_BY, table.name
    assert CLUSTER_COURSE not in SHOWN_BY, "as the history of the cluster"


def test_a_cluster_that_is_hidden_has_no_rows(filled: Path) -> None:
    role = RoleSettings(name="other", values=["*"], clusters=Selection(include=["elsewhere"]))
    lake = VisibleLake(load(filled / "headroom.yaml").lake, Viewer(name="x", roles=(role,)))
    for table in TABLES.values():
        if "cluster" in table.polars_schema:
            assert lake.scan(table, cluster=CLUSTER).collect().is_empty(), table.name
    for table in CURRENT_TABLES:
        assert lake.current.read(table, CLUSTER).is_empty(), table.name


def test_whoever_sees_all_reads_the_same_rows(filled: Path) -> None:
    settings = load(filled / "headroom.yaml").lake
    whole, every = VisibleLake(settings, Viewer()), VisibleLake(settings, ALL)
    for table in TABLES.values():
        assert every.scan(table).collect().equals(whole.scan(table).collect())


def test_hidden_names_are_taken_out_of_texts() -> None:
    hidden = HiddenNames.of(["orders", "orders.dlq", "a group", "x-1"])
    text = "orders-3 of orders. and orders.dlq: 'a group', reorders, orders2, x-1-0"
    assert hidden.without(text) == (
        "(hidden) of (hidden) and (hidden): '(hidden)', reorders, orders2, (hidden)"
    )


def test_what_a_team_does_not_see_is_not_said_to_be_none(
    open_page: Open, alarmed: Path, as_viewer: Any
) -> None:
    as_viewer(TEAMS["shipping"][0])
    said = texts(open_page(alarmed, "health"))
    assert "No run of the history jobs" not in said and "reads all rules" not in said
    test = open_page(alarmed, "brokers")
    assert "No poll has read the partitions" not in texts(test)
    at_risk = [one.value for one in test.dataframe if "preferred_leader" in one.value.columns]
    assert [set(rows["topic"]) for rows in at_risk] == [{"inventory"}]


def test_a_viewer_may_not_act(open_page: Open, alarmed: Path, as_viewer: Any) -> None:
    as_viewer(TEAMS["shipping"][0])
    for page in ("alerts", "silences"):
        test = open_page(alarmed, page)
        assert not [one for one in test.button if one.label in ("Acknowledge", "Silence")]


def test_the_newest_poll_is_known_to_all(filled: Path) -> None:
    lake = VisibleLake(load(filled / "headroom.yaml").lake, TEAMS["payments"][0])
    rows = lake.current.read(CLUSTER_STATUS, CLUSTER)
    assert rows.select(pl.col("newest_poll_at").is_not_null().all()).item()
    assert rows["evaluated_at"][0] <= NOW


def test_marks_are_shown_to_whom_they_concern(
    open_page: Open, alarmed: Path, as_viewer: Any
) -> None:
    def marked(one: Viewer, page: str, **asked: str) -> set[str]:
        as_viewer(one)
        test = open_page(alarmed, page, **asked)
        calm(test)
        specs = " ".join(str(chart.proto.spec) for chart in test.get("plotly_chart"))
        texts = " ".join(each.value for each in test.markdown)
        named = ("payments &lt;b&gt;1.4.2", "stock 7", "broker 2 \\u2192", "broker 2 →")
        return {name for name in named if name in specs or name in texts}

    team = TEAMS["payments"][0]
    assert "payments &lt;b&gt;1.4.2" in marked(team, "group", group="payments")
    assert marked(team, "overview") == {"payments &lt;b&gt;1.4.2"}
    assert {"payments &lt;b&gt;1.4.2", "stock 7"} < marked(ALL, "overview")


def test_only_operators_mark_deploys_and_of_what_they_operate(
    open_page: Open, alarmed: Path, as_viewer: Any
) -> None:
    as_viewer(TEAMS["payments"][0])
    assert not any(
        one.label == "What was deployed" for one in open_page(alarmed, "overview").text_input
    )
    as_viewer(viewer("payments", "payments", operator=True))

    def mark(text: str, group: str) -> AppTest:
        test = open_page(alarmed, "overview")
        inputs = {one.label: one for one in test.text_input}
        inputs["What was deployed"].set_value(text)
        inputs["Consumer group"].set_value(group)
        (button,) = (one for one in test.button if one.label == "Mark it now")
        return button.click().run()

    assert "your roles allow marks of a group" in mark("mine", "billing").error[0].value
    assert "your roles allow marks of a group" in mark("mine", "").error[0].value
    assert "needs a text" in mark(" ", "payments").error[0].value
    assert mark("mine", "payments").success
