"""The page of alerts, and what leads to it: filled, empty, broken."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from alerting.rules.lifecycle import State
from alerting.service import SERVICE
from app.data import directory
from app.style.format import count
from config.load import load
from lake.storage.store import Lake
from tests.app.conftest import NOW, Open, store_of
from tests.app.test_pages import calm, texts
from tests.app.world import CLUSTER


def _lake(folder: Path) -> Lake:
    return Lake(load(folder / "headroom.yaml").lake)


def listed(test: AppTest) -> list[dict[str, Any]]:
    """Return the rows of the lists on a page."""
    return [
        row
        for element in test.get("bidi_component")
        for row in json.loads(element.proto.json).get("items", ())
    ]


def sentences(test: AppTest) -> dict[str, dict[str, str]]:
    """Return the paragraphs with links on a page, each with the addresses by their labels."""
    found = {}
    for element in test.get("bidi_component"):
        parts = json.loads(element.proto.json).get("parts", ())
        said = "".join(part if isinstance(part, str) else part["label"] for part in parts)
        found[said] = {part["label"]: part["href"] for part in parts if not isinstance(part, str)}
    return found


def test_overview_lists_what_changed_and_says_how_many_alerts_began(
    open_page: Open, alarmed: Path
) -> None:
    test = open_page(alarmed, range="6h")
    calm(test)
    changes = next(one.value for one in test.dataframe if "detail" in one.value)
    assert changes["at"].is_monotonic_decreasing
    assert not changes["what"].str.contains("lert").any(), "alerts are on their page"
    store = store_of(alarmed)
    fired = sum(one.fired_at is not None for one in store.alerts().values())
    store.close()
    (links,) = (
        of for said, of in sentences(test).items() if said == f"{fired} alerts began: Alerts"
    )
    assert "range=6h" in links["Alerts"] and links["Alerts"].startswith("./alerts?cluster=")


def test_alerts_are_grouped_by_cause(open_page: Open, alarmed: Path) -> None:
    test = open_page(alarmed, "alerts")
    calm(test)
    assert test.title[0].value == open_page(alarmed).title[0].value, "the Overview counts the same"
    assert "34 rules every 5 s" in texts(test)
    rows = test.dataframe[0].value
    pending = int((rows["state"] == "pending").sum())
    said = f"{len(rows) - pending} alerts firing, {count(pending, 'alert')} pending"
    assert said in texts(test), "what is pending does not fire"
    assert said in test.expander[0].label
    assert "in the last hour ↓](#history)" in texts(test)
    (history,) = (one.proto for one in test.header if one.value == "History")
    assert history.anchor == "history"
    causes = {row["what"]: row for row in listed(test)}
    broker = causes["Broker 2 is missing"]
    assert broker["badge"]["label"] == "● act now"
    assert any("under-replicated" in line for line in broker["more"])
    pending = [line for line in broker["more"] if line.endswith(" (pending)")]
    fire = len(broker["more"]) - len(pending)
    assert broker["link"]["href"].startswith("./incident?cluster=demo&range=1h&alert=")
    said = f"{count(fire, 'symptom')}, {len(pending)} pending"
    assert broker["more_label"] == said, "the number of symptoms"
    (overview,) = (
        row for row in listed(open_page(alarmed)) if row["what"] == "Broker 2 is missing"
    )
    for part in ("link", "more_label"):
        assert overview[part] == broker[part], "one number on both pages"
    assert not any("under-replicated" in what for what in causes)
    assert all(row["step"] for row in causes.values())
    assert broker["acts"][0]["label"] == "brokers"
    assert broker["acts"][0]["href"].startswith("./brokers?cluster=demo&range=1h")
    rows = test.dataframe[0].value
    assert set(rows["state"]) >= {"firing", "symptom"}
    assert rows["what"].to_list()[0] in causes
    timelines = [one.proto.id for one in test.get("plotly_chart")]
    assert len(timelines) == 2, "what fires all of the time is folded"
    (delivery,) = [one.value for one in test.dataframe if "waiting" in one.value]
    assert delivery["target"].to_list() == ["hook"]
    assert delivery["waiting"].to_list()[0] > 0


def test_what_has_just_ended_stands_right_below_what_is_open_and_above_the_bars(
    open_page: Open, alarmed: Path
) -> None:
    store = store_of(alarmed)
    fires = next(one for one in store.alerts().values() if one.fired_at is not None)
    ago = NOW.timestamp() - 1800
    times = {"started_at": ago, "fired_at": ago, "since": None, "resolved_at": ago + 60}
    over = [
        replace(
            fires,
            **times,
            state=State.RESOLVED,
            inhibited_by=None,
            fingerprint=f"over-{number}",
            what=f"topic-{number} was late",
            labels={"cluster": CLUSTER, "topic": f"topic-{number}"},
        )
        for number in range(7)
    ]
    store.save(CLUSTER, {one.fingerprint: one for one in over}, {}, [], now=0.0)
    store.close()
    test = open_page(alarmed, "alerts")
    calm(test)
    (history,) = (one.value for one in test.header if one.value == "History")
    below = [
        each for each in test.main if each.type in ("header", "bidi_component", "plotly_chart")
    ]
    begin = next(at for at, one in enumerate(below) if getattr(one, "value", "") == history)
    ended, bars = below[begin + 1 : begin + 3]
    assert [ended.type, bars.type] == ["bidi_component", "plotly_chart"]
    found = json.loads(ended.proto.json)
    assert (found["alt"], found["seen"]) == ("What is over, the newest first", 5)
    assert found["fold"] == "2 more that are over"


def test_the_overview_sees_at_once_what_to_act_on_and_folds_the_rest(
    open_page: Open, alarmed: Path
) -> None:
    (found,) = (
        one
        for one in (
            json.loads(each.proto.json) for each in open_page(alarmed).get("bidi_component")
        )
        if "items" in one
    )
    seen, folded = found["items"][: found["seen"]], found["items"][found["seen"] :]
    assert folded
    assert found["fold"].startswith(f"{len(folded)} more: ")
    assert not [row for row in folded if row["badge"]["colour"] == "red"]
    assert len(seen) >= 4


def test_causes_are_found_by_their_names_and_those_of_their_symptoms(
    open_page: Open, alarmed: Path
) -> None:
    every = len(listed(open_page(alarmed, "alerts")))
    test = open_page(alarmed, "alerts", **{"alerts-search": "UNDER-replicated"})
    calm(test)
    assert [row["what"] for row in listed(test)] == ["Broker 2 is missing"]
    assert f"1 of {every} causes" in texts(test)
    test.text_input(key="alerts-search").set_value("no such").run()
    assert not listed(test)
    assert "Nothing that fires or is pending matches" in texts(test)


@pytest.mark.parametrize(
    ("page", "name", "said"),
    [("group", "payments", "payments"), ("topic", "sessions", "sessions")],
)
def test_the_page_of_one_thing_leads_to_its_incidents(
    open_page: Open, alarmed: Path, page: str, name: str, said: str
) -> None:
    test = open_page(alarmed, page, **{page: name})
    calm(test)
    led = [one.proto for one in test.get("page_link") if one.proto.page == "incident"]
    assert led, "what is wrong with it"
    brief = page == "group" and len(led) == 1
    assert all((said if not brief else "Incident") in one.label.replace("\\", "") for one in led)
    store = store_of(alarmed)
    ids = {one.id for one in store.alerts().values()}
    assert {dict(parse_qsl(one.query_string))["alert"] for one in led} <= ids
    store.close()


def test_the_search_leads_to_incidents_and_rules(open_page: Open, alarmed: Path) -> None:
    view = open_page(alarmed).session_state["_view"]
    found = {
        (row["kind"], row["name"]): row for row in directory.entries(view).iter_rows(named=True)
    }
    alerts = [
        name
        for kind, name in directory.entries(view).select("kind", "name").rows()
        if kind in ("alert", "symptom")
    ]
    assert {kind for kind, name in found if "under-replicated" in name} == {"symptom"}
    assert sorted(alerts) == sorted(set(alerts)), "what two rules say of one thing is there once"
    broker = found["alert", "Broker 2 is missing"]
    (link,) = [
        row["link"]
        for row in listed(open_page(alarmed, "alerts"))
        if row["what"] == "Broker 2 is missing"
    ]
    assert broker["page"] == "incident"
    assert f"alert={broker['value']}" in link["href"]
    assert found["rule", "BrokerMissing"]["value"] == "BrokerMissing"


def test_an_alert_is_acknowledged(open_page: Open, alarmed: Path) -> None:
    name = "stock misses its objective"
    (row,) = (row for row in listed(open_page(alarmed, "alerts")) if row["what"] == name)
    assert [one["label"] for one in row["acts"]] == ["group stock", "Acknowledge", "Silence"]
    assert row["acts"][1]["href"].endswith(f"alert={row['id']}&do=acknowledge")
    test = open_page(alarmed, "incident", alert=row["id"], do="acknowledge")
    assert test.session_state["acknowledge-is-open"], "the link opens the form"
    assert "do" not in test.query_params, "once: who closes it has it closed"
    choices = [one for one in test.selectbox if one.key == "alert-to-acknowledge"]
    assert not any(row["id"][:8] in each for one in choices for each in one.options)
    next(one for one in test.text_input if one.label == "Who looks after it").input("ana")
    test.button("FormSubmitter:acknowledge-Acknowledge").click().run()
    calm(test)
    (stock,) = (row for row in listed(open_page(alarmed, "alerts")) if row["what"] == name)
    assert [one["label"] for one in stock["acts"]] == ["group stock", "Silence"]
    assert (stock["note"], stock["is_looked_after"]) == ("looked after by ana", True)
    assert re.fullmatch(r"loses data (within|in) [\d.]+\u00a0(min|h|d)", stock["until"])
    (one,) = store_of(alarmed).acknowledgements().values()
    assert one.author == "ana"
    (there,) = (row for row in listed(open_page(alarmed)) if row["what"] == stock["what"])
    assert there["note"] == stock["note"], "the Overview says so, too"


def test_what_is_acknowledged_leads_no_headline_while_other_things_need_somebody(
    open_page: Open, alarmed: Path
) -> None:
    before = listed(open_page(alarmed, "alerts"))
    first, *rows = (row["what"] for row in before)
    store = store_of(alarmed)
    (id_,) = (one.id for one in store.alerts().values() if one.what == first)
    store.acknowledge(id_, author="ana", comment="", now=NOW.timestamp())
    store.close()
    for page in ("alerts", "overview"):
        test = open_page(alarmed, page)
        assert test.title[0].value.startswith(f"{rows[0]}. ")
        assert ", 1 looked after, " in test.title[0].value
        there = [row for row in listed(test) if row["badge"] == before[0]["badge"]]
        assert there[-1]["what"] == first, "its row stays, behind what is as bad"
        assert there[-1]["note"].startswith("looked after by ana")


def test_a_service_that_stands_still_is_told(open_page: Open, alarmed: Path) -> None:
    store = store_of(alarmed)
    store.note(
        SERVICE,
        {
            "evaluated_at": NOW.timestamp() - 600,
            "interval_seconds": 5.0,
            "rules": 34,
            "failures": {"demo": "the store is full"},
        },
    )
    store.close()
    test = open_page(alarmed, "alerts")
    messages = [one.value for one in test.error]
    assert "does not run" in messages[0]
    assert "the store is full" in messages[1]


def test_without_a_service_the_page_says_how_to_start_one(open_page: Open, filled: Path) -> None:
    test = open_page(filled, "alerts")
    calm(test)
    assert test.title[0].value == "The alerting service has not run yet"
    assert "python -m alerting run" in test.code[0].value


@pytest.mark.parametrize("page", ["alerts", "silences", "rules"])
def test_an_empty_lake_says_what_to_do(open_page: Open, empty: Path, page: str) -> None:
    test = open_page(empty, page)
    calm(test)
    assert test.title[0].value == "Waiting for the first poll"


@pytest.mark.parametrize("page", ["alerts", "silences", "rules"])
def test_a_broken_store_is_one_clear_message(open_page: Open, alarmed: Path, page: str) -> None:
    path = Path(load(alarmed / "headroom.yaml").alerting.state)
    for name in (path, *path.parent.glob(f"{path.name}-*")):
        name.unlink(missing_ok=True)
    path.write_bytes(b"no database, but long enough for a header" * 100)
    test = open_page(alarmed, page)
    calm(test)
    assert "cannot be shown" in test.title[0].value
    (message,) = [one.value for one in test.error]
    assert "the alert store cannot be opened" in message


def test_an_alert_that_cannot_be_read_leaves_the_others_on_the_page(
    open_page: Open, alarmed: Path
) -> None:
    state = load(alarmed / "headroom.yaml").alerting.state
    with closing(sqlite3.connect(state)) as connection, connection:
        connection.execute(
            "UPDATE alerts SET body = '{}' "
            "WHERE body NOT LIKE '%\"Broker 2 is missing\"%' AND id = (SELECT min(id) FROM alerts "
            "WHERE body NOT LIKE '%\"Broker 2 is missing\"%')"
        )
    test = open_page(alarmed, "alerts")
    assert not test.exception
    assert "Broker 2 is missing" in {row["what"] for row in listed(test)}
    (message,) = [one.value for one in test.error]
    assert "cannot be read and was left out" in message


def test_what_the_service_left_out_is_said(open_page: Open, alarmed: Path) -> None:
    store = store_of(alarmed)
    line = "the rules stay as they were: rules.yaml: line 1: no"
    noted = store.noted(SERVICE) or {}
    store.note(SERVICE, {**noted, "problems": [line]})
    store.close()
    for page in ("alerts", "rules", "health"):
        test = open_page(alarmed, page)
        (message,) = [one.value for one in test.error]
        assert "the rules stay as they were" in message


def test_a_group_that_is_fine_again_leads_to_its_last_incident(
    open_page: Open, alarmed: Path
) -> None:
    store = store_of(alarmed)
    alerts = store.alerts("demo")
    stopped = next(one for one in alerts.values() if one.check == "stopped")
    began = NOW.timestamp() - 900
    over = replace(
        stopped,
        fingerprint="over",
        labels={**stopped.labels, "group": "billing"},
        what="billing stopped",
        state=State.RESOLVED,
        since=None,
        started_at=began,
        fired_at=began + 60,
        resolved_at=began + 240,
        inhibited_by=None,
    )
    store.save("demo", {**alerts, "over": over}, {}, [], NOW.timestamp())
    store.close()
    test = open_page(alarmed, "group", group="billing")
    calm(test)
    (link,) = (one.proto for one in test.get("page_link") if "Last incident" in one.proto.label)
    assert link.label.endswith("lasted\u00a04\u00a0min")
    assert f"alert={over.id}" in link.query_string
    # A fixed time that ended before the incident did leads to none.
    ends = (NOW - timedelta(hours=1), NOW - timedelta(minutes=13))
    between = "/".join(f"{one:%Y-%m-%dT%H:%M:%SZ}" for one in ends)
    then = open_page(alarmed, "group", group="billing", between=between)
    calm(then)
    assert not [one for one in then.get("page_link") if "Last incident" in one.proto.label]


def test_week_has_what_goes_on_in_the_order_of_alerts_then_what_is_over(
    open_page: Open, alarmed: Path
) -> None:
    week = listed(open_page(alarmed, "week"))
    order = [row["what"] for row in listed(open_page(alarmed, "alerts"))]
    is_over = [not row["when"].endswith(("goes on", "catches up", "mended")) for row in week]
    assert is_over == sorted(is_over), "what is over stands last"
    both = [row["what"] for row in week[: is_over.count(False)] if row["what"] in order]
    assert len(both) > 3
    assert both == sorted(both, key=order.index)
