"""Every page with a filled, a young, an empty and a broken lake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from lake.schemas.current import (
    BROKER_STATUS,
    GROUP_PARTITION_STATUS,
    GROUP_STATUS,
    OPEN_ALERTS,
    PARTITIONS_AT_RISK,
    READERS,
    TOPIC_STATUS,
)
from lake.schemas.model import Table
from lake.schemas.tables import (
    BROKERS,
    CLUSTER_HISTORY,
    COLLECTIONS,
    DEAD_LETTER_HISTORY,
    DEAD_LETTERS,
    GROUP_HISTORY,
    GROUP_OFFSETS,
    PARTITIONS,
    TOPIC_HISTORY,
)
from tests.selection import MARK

Open = Callable[..., AppTest]

PAGES = {
    "overview": "4 things need you now, 2 to watch, 4 pending",
    "groups": "Of 10 groups: 1 stopped, 1 stalled, 3 falling behind, 2 unknown",
    "topics": "8 topics receive",
    "brokers": "Broker 2 is missing",
    "dead_letters": "fail, in 2 of 2 topics",
    "scaling": "Advice on 7 groups and 1 topic: 5 to act on now",
    "health": "2 of 7 sections not collected in full",
}
"""Every page of the menu, and what its headline says of the filled lake."""

DETAILS = {"group": "payments", "topic": "sessions"}


def texts(test: AppTest) -> str:
    parts = [*test.title, *test.header, *test.markdown, *test.caption, *test.error]
    return "\n".join(part.value for part in parts)


def calm(test: AppTest) -> None:
    assert [one.value for one in test.exception] == []
    assert [one.value for one in test.warning] == []


@pytest.mark.parametrize(("page", "headline"), PAGES.items())
def test_a_filled_lake_gives_each_page_its_sentence(
    open_page: Open, filled: Path, page: str, headline: str
) -> None:
    test = open_page(filled, page)
    calm(test)
    assert headline in test.title[0].value
    assert not test.error
    assert not test.subheader, "no step of headings is left out"


FOLDED = {
    "overview": {"Changes in the last hour"},
    "topic": {"Partitions", "What changed", "Open transactions"},
    "brokers": {"If one more broker fails", "Versions and settings", "What changed"},
    "dead_letters": {"By exception"},
}
"""Parts of pages whose titles alone are seen on a phone."""


@pytest.mark.parametrize("page", FOLDED)
def test_a_phone_folds_what_its_first_screen_does_not_need(
    open_page: Open, filled: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    given = {page: DETAILS[page]} if page in DETAILS else {}
    assert not FOLDED[page] & {one.label for one in open_page(filled, page, **given).expander}
    monkeypatch.setattr(type(st.context), "headers", {"User-Agent": "Mobile"})
    test = open_page(filled, page, **given)
    calm(test)
    folds = {one.label: one.proto.expanded for one in test.expander}
    assert {folds.get(title) for title in FOLDED[page]} == {False}
    if page == "dead_letters":
        assert "messages a minute" in [one.value for one in test.caption], "what its chart counts"


@pytest.mark.parametrize("page", PAGES)
def test_a_lake_without_history_is_shown_from_samples(
    open_page: Open, without_history: Path, page: str
) -> None:
    test = open_page(without_history, page)
    calm(test)
    assert PAGES[page] in test.title[0].value
    if page not in ("scaling", "health", "groups"):
        # Brokers draws an hour from samples, history or not.
        said = "No history of this time has been written yet" in texts(test)
        assert said is (page != "brokers")
        assert len(test.get("plotly_chart")) >= 1


@pytest.mark.parametrize("page", [*PAGES, *DETAILS])
def test_an_empty_lake_says_what_to_do(open_page: Open, empty: Path, page: str) -> None:
    test = open_page(empty, page)
    calm(test)
    assert test.title[0].value == "Waiting for the first poll"
    assert "python -m collectors run" in "\n".join(one.value for one in test.code)


# Of each page one table always, the others in their turn.
BROKEN = [
    pytest.param(page, table, id=f"{page}-{table.name}", marks=[] if table == tables[0] else MARK)
    for page, tables in {
        "overview": (GROUP_STATUS, OPEN_ALERTS, CLUSTER_HISTORY, COLLECTIONS, DEAD_LETTERS),
        "groups": (GROUP_STATUS, GROUP_HISTORY),
        "group": (GROUP_STATUS, GROUP_PARTITION_STATUS, GROUP_OFFSETS, GROUP_HISTORY),
        "topics": (TOPIC_STATUS, TOPIC_HISTORY),
        "topic": (TOPIC_STATUS, READERS, PARTITIONS, TOPIC_HISTORY),
        "brokers": (BROKER_STATUS, PARTITIONS_AT_RISK, CLUSTER_HISTORY),
        "dead_letters": (DEAD_LETTERS, DEAD_LETTER_HISTORY, READERS),
        "scaling": (GROUP_OFFSETS, BROKERS),
        "health": (COLLECTIONS,),
    }.items()
    for table in tables
]


@pytest.mark.parametrize(("page", "table"), BROKEN)
def test_a_broken_table_is_named_once_and_the_rest_is_drawn(
    open_page: Open, broken: Callable[[Table], Path], page: str, table: Table
) -> None:
    named = {page: DETAILS[page]} if page in DETAILS else {}
    test = open_page(broken(table), page, **named)
    calm(test)
    escaped = table.name.replace("_", r"\_")
    messages = [one.value for one in test.error]
    assert len(messages) == 1
    assert f"The table {escaped} cannot be read" in messages[0]
    assert test.title, "the page has no headline"


def test_a_page_whose_history_is_broken_still_shows_the_present(
    open_page: Open, broken: Callable[[Table], Path]
) -> None:
    test = open_page(broken(GROUP_HISTORY), "groups")
    assert PAGES["groups"] in test.title[0].value
    assert test.dataframe[0].value.shape[0] == 10


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(None, "cannot be read", id="missing file"),
        pytest.param("clusters: []\nkafka: 1\n", "kafka: unknown key", id="unknown key"),
        pytest.param("clusters:\n  - name: a\n", "bootstrap", id="missing key"),
    ],
)
def test_a_bad_configuration_is_one_clear_line(
    open_page: Open, tmp_path: Path, content: str | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "headroom.yaml").write_text(content)
    test = open_page(tmp_path)
    calm(test)
    assert test.title[0].value == "Headroom is not configured yet"
    assert any(said in one.value.replace("\\", "") for one in test.error)


def test_without_a_configuration_the_page_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, open_page: Open, tmp_path: Path
) -> None:
    test = open_page(tmp_path)
    monkeypatch.delenv("HEADROOM_CONFIG")
    test.run()
    calm(test)
    assert "HEADROOM_CONFIG is not set" in test.error[0].value.replace("\\", "")


def test_a_page_whose_samples_are_broken_still_shows_the_past(
    open_page: Open, broken: Callable[[Table], Path]
) -> None:
    test = open_page(broken(GROUP_OFFSETS), "groups")
    calm(test)
    assert test.title[0].value == "Of 10 groups: 10 unknown"
    assert [one.value for one in test.error if r"group\_offsets cannot be read" in one.value]
    listed = test.dataframe[0].value
    assert listed["lag"].isna().all()
    assert any(course is not None and len(course) > 1 for course in listed["trend"])


def test_health_names_the_process_that_polls(open_page: Open, filled: Path) -> None:
    said = texts(open_page(filled, "health"))
    assert "Polled by **watch\\-2/71**" in said
    assert "watch\\-1/17 did" in said


def test_what_administrators_set_and_changed_is_on_the_pages(open_page: Open, filled: Path) -> None:
    def lines(page: str, **parameters: str) -> str:
        test = open_page(filled, page, **parameters)
        calm(test)
        cells = [str(frame.value.to_dict("list")) for frame in test.dataframe]
        lists = (one.proto.body for one in test.get("html"))
        return "\n".join([texts(test), *cells, *lists, *(one.label for one in test.expander)])

    brokers = lines("brokers")
    for expected in (
        ">Kafka<",
        ">4.3<",
        ">certificate<",
        "expires in 99 d",
        "made the collector wait 2.5 s",
        "but fenced: down, or not ready yet",
        "16 on 1; 8 on 3",
        "metadata.version",
        "ACLs: 1",
        "SCRAM users: unknown",
        "needs DESCRIBE on the cluster",
        "controller moved to 1",
    ):
        assert expected in brokers, expected
    group = lines("group", group="billing")
    for expected in ("till-3 at 10.0.0.7 left", "till-4 at 10.0.0.8 joined"):
        assert expected in group, expected
        assert expected not in lines("group", group="clicks-enricher")
    topic = lines("topic", topic="sessions")
    for expected in ("retention.ms=1 h (3600000)", "sessions-writer-7"):
        assert expected in topic, expected
        assert expected not in lines("topic", topic="orders")
