"""The pages of alerts, silences and rules: filled, empty, broken."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import yaml
from streamlit.testing.v1 import AppTest

from alerting.rules.lifecycle import State
from alerting.service import SERVICE
from app.data import directory
from app.data.alert_store import VisibleAlerts
from config.load import load
from lake.storage.store import Lake
from tests.app.conftest import NOW, store_of
from tests.app.test_pages import calm, texts

Open = Callable[..., AppTest]


def _lake(folder: Path) -> Lake:
    return Lake(load(folder / "headroom.yaml").lake)


def listed(test: AppTest) -> list[dict[str, Any]]:
    """Return the rows of the lists on a page."""
    return [
        row
        for element in test.get("bidi_component")
        for row in json.loads(element.proto.json).get("items", ())
    ]


def test_alerts_are_grouped_by_cause(open_page: Open, alarmed: Path) -> None:
    test = open_page(alarmed, "alerts")
    calm(test)
    assert test.title[0].value == open_page(alarmed).title[0].value, "the Overview counts the same"
    assert "34 rules every 5 s" in texts(test)
    causes = {row["what"]: row for row in listed(test)}
    broker = causes["Broker 2 is missing"]
    assert broker["badge"]["label"] == "● act now"
    assert any("under-replicated" in line for line in broker["more"])
    assert broker["more_label"] == f"{len(broker['more'])} symptoms"
    assert not any("under-replicated" in what for what in causes)
    assert all(row["step"] for row in causes.values())
    assert broker["link"]["href"].startswith("./brokers?cluster=demo&range=1h")
    rows = test.dataframe[0].value
    assert set(rows["state"]) >= {"firing", "inhibited"}
    assert rows["what"].to_list()[0] in causes
    assert len(test.get("plotly_chart")) == 1
    (delivery,) = [one.value for one in test.dataframe if "waiting" in one.value]
    assert delivery["target"].to_list() == ["hook"]
    assert delivery["waiting"].to_list()[0] > 0


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
    assert "No open alert matches" in texts(test)


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
    assert all(said in one.label.replace("\\", "") for one in led)
    store = store_of(alarmed)
    ids = {one.id for one in store.alerts().values()}
    assert {dict(parse_qsl(one.query_string))["alert"] for one in led} <= ids
    store.close()


def test_the_search_leads_to_incidents_and_rules(open_page: Open, alarmed: Path) -> None:
    view = open_page(alarmed).session_state["_view"]
    found = {
        (row["kind"], row["name"]): row for row in directory.entries(view).iter_rows(named=True)
    }
    broker = found["alert", "Broker 2 is missing"]
    (link,) = [
        row["links"][0]
        for row in listed(open_page(alarmed, "alerts"))
        if row["what"] == "Broker 2 is missing"
    ]
    assert broker["page"] == "incident"
    assert f"alert={broker['value']}" in link["href"]
    assert found["rule", "BrokerMissing"]["value"] == "BrokerMissing"


def test_an_incident_is_told_from_its_first_second(
    open_page: Open, alarmed: Path, tab_titles: list[str]
) -> None:
    (link,) = [
        row["links"][0]
        for row in listed(open_page(alarmed, "alerts"))
        if row["what"] == "Broker 2 is missing"
    ]
    store = store_of(alarmed)
    address = urlsplit(link["href"])
    parameters = dict(parse_qsl(address.query))
    named = parameters["alert"]
    store.acknowledge(named, author="ana", comment="the disk", now=NOW.timestamp())
    store.close()
    test = open_page(alarmed, address.path.removeprefix("./"), **parameters)
    calm(test)
    assert test.title[0].value == "Broker 2 is missing"
    assert tab_titles[-1] == "(4) Broker 2 is missing · Incident · Headroom"
    test.query_params["alert"] = "another"
    test.run()
    assert tab_titles[-1] == "(4) Incident · Headroom"
    test.query_params["alert"] = named
    said = texts(test.run())
    assert "ana looks after it: the disk" in said.replace("\\", "")
    steps = test.dataframe[0].value
    assert steps["at"].is_monotonic_increasing
    assert {"cause", "symptom", "person"} <= set(steps["kind"])
    late, chart = test.get("plotly_chart")
    assert "Broker 2 is missing" in chart.proto.spec
    drawn = [trace["name"] for trace in json.loads(late.proto.spec)["data"]]
    assert drawn[:2] == ["objective 5 min", "archive"]
    assert "The 5 furthest behind of 10 groups; less: " in said.replace("\\", "")
    (markdown,) = [one.value for one in test.code if "# Broker 2 is missing" in one.value]
    assert "| stock | " in markdown


def test_a_runbook_that_is_an_address_is_a_link(
    open_page: Open, alarmed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_of(alarmed)
    (broker,) = [one for one in store.alerts().values() if one.rule == "BrokerMissing"]
    store.close()
    for runbook, is_link in (("https://wiki.example/brokers", True), ("ask ana", False)):
        told = replace(broker, runbook=runbook)
        monkeypatch.setattr(VisibleAlerts, "alert", lambda store, named, told=told: told)
        monkeypatch.setattr(
            VisibleAlerts, "alerts", lambda store, told=told: {told.fingerprint: told}
        )
        test = open_page(alarmed, "incident", alert=broker.id)
        calm(test)
        links = [one.proto for one in test.get("page_link") if one.proto.label == "Runbook"]
        assert [one.page for one in links] == ([runbook] if is_link else [])
        assert ("Runbook: ask ana" in texts(test)) is not is_link


@pytest.mark.parametrize("named", ["", "0123456789abcdef"])
def test_an_incident_that_is_not_there_is_said_so(
    open_page: Open, alarmed: Path, named: str
) -> None:
    test = open_page(alarmed, "incident", **({"alert": named} if named else {}))
    calm(test)
    assert test.title[0].value == ("This incident is not known" if named else "Which incident?")
    assert ("holds no alert of this address" in texts(test)) is bool(named)


def test_an_alert_is_acknowledged(open_page: Open, alarmed: Path) -> None:
    test = open_page(alarmed, "alerts")
    next(one for one in test.text_input if one.label == "Who looks after it").input("ana")
    test.button("FormSubmitter:acknowledge-Acknowledge").click().run()
    calm(test)
    (stock,) = (row for row in listed(test) if row["what"] == "stock misses its objective")
    assert stock["until"].endswith(", ana looks after it")
    (one,) = store_of(alarmed).acknowledgements().values()
    assert one.author == "ana"


def test_an_incident_is_acknowledged_and_silenced_where_it_is_told(
    open_page: Open, alarmed: Path
) -> None:
    store = store_of(alarmed)
    (broker,) = [one for one in store.alerts().values() if one.rule == "BrokerMissing"]
    store.close()
    test = open_page(alarmed, "incident", alert=broker.id)
    assert test.multiselect[0].value == [
        'rule="BrokerMissing"',
        *(f'{label}="{value}"' for label, value in broker.labels.items()),
    ]
    test.text_input[2].input("ana")
    test.text_input[3].input("a new disk comes")
    test.button("FormSubmitter:silence-Silence").click().run()
    test.text_input[0].input("ana")
    test.button("FormSubmitter:acknowledge-Acknowledge").click().run()
    calm(test)
    assert "ana looks after it" in texts(test)
    assert not [one for one in test.button if one.label == "Acknowledge"], "once is enough"
    store = store_of(alarmed)
    (made,) = store.silences(NOW.timestamp())
    assert made.covers(broker, made.starts_at)
    assert store.acknowledgements()[broker.id].author == "ana"
    at = NOW.timestamp()
    texts_of = [str(one) for one in made.matchers]
    store.silence(texts_of, starts_at=at, ends_at=at + 60, author="ana", comment="now", now=at)
    store.close()
    assert "It is silenced." in texts(open_page(alarmed, "incident", alert=broker.id))


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


def test_a_silence_is_made_and_ended(open_page: Open, alarmed: Path) -> None:
    test = open_page(alarmed, "silences")
    calm(test)
    assert test.title[0].value == "No silence is on"
    test.multiselect[0].set_value(["rule=BrokerMissing", "cluster=demo"]).run()
    assert "Silences 1 of" in texts(test) and "Broker 2 is missing." in texts(test)
    test.text_input[0].input("ana")
    test.text_input[1].input("the disk is replaced")
    test.button("FormSubmitter:silence-Silence").click().run()
    calm(test)
    assert test.success[0].value == "Silence 1 is made."
    (silence,) = store_of(alarmed).silences()
    assert [str(one) for one in silence.matchers] == ["rule=BrokerMissing", "cluster=demo"]
    assert silence.ends_at - silence.starts_at == 7200
    test = open_page(alarmed, "silences")
    assert "End it now" in [one.label for one in test.button]


@pytest.mark.parametrize(
    ("matchers", "who", "why", "message"),
    [
        pytest.param("", "ana", "x", "needs a matcher", id="no matcher"),
        pytest.param("group", "ana", "x", "a matcher reads", id="no matcher at all"),
        pytest.param("group=a", "", "x", "an author", id="no author"),
    ],
)
def test_a_silence_that_is_not_whole_is_refused(
    open_page: Open, alarmed: Path, matchers: str, who: str, why: str, message: str
) -> None:
    test = open_page(alarmed, "silences")
    test.multiselect[0].set_value([matchers] if matchers else [])
    test.text_input[0].input(who)
    test.text_input[1].input(why)
    test.button("FormSubmitter:silence-Silence").click().run()
    assert message in test.error[0].value
    assert store_of(alarmed).silences() == []


@pytest.mark.parametrize("matcher", ['group=~"batch\\ "', 'group=~""\\""'])
def test_a_silence_with_blanks_or_quotes_is_made_shown_and_ended(
    open_page: Open, alarmed: Path, matcher: str
) -> None:
    test = open_page(alarmed, "silences")
    test.multiselect[0].set_value([matcher])
    test.text_input[0].input("ana")
    test.text_input[1].input("deploy")
    test.button("FormSubmitter:silence-Silence").click().run()
    calm(test)
    test = open_page(alarmed, "silences")
    calm(test)
    assert test.dataframe[0].value["matchers"].to_list() == [matcher]
    test.button("FormSubmitter:end-silence-End it now").click().run()
    calm(test)
    assert store_of(alarmed).silences(time.time()) == []


def test_a_silence_that_cannot_be_read_is_said_on_each_page_and_ended_from_its_own(
    open_page: Open, alarmed: Path
) -> None:
    state = load(alarmed / "headroom.yaml").alerting.state
    with closing(sqlite3.connect(state)) as connection, connection:
        connection.execute(
            "INSERT INTO silences (matchers, starts_at, ends_at, author, comment, created_at) "
            """VALUES ('["group=~batch\\\\ "]', 0, 4e9, 'eve', 'x', 0)"""
        )
    for page in ("alerts", "rules", "health", "silences"):
        test = open_page(alarmed, page)
        assert not test.exception
        (message,) = [one.value for one in test.error]
        assert "silence 1 of eve silences nothing" in message
    assert test.title[0].value == "No silence is on"
    assert "cannot be read" in test.dataframe[0].value["matchers"].to_list()[0]
    test.button("FormSubmitter:end-silence-End it now").click().run()
    calm(test)
    assert store_of(alarmed).silences(time.time()) == []


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


def test_rules_are_listed_and_one_is_tried(open_page: Open, alarmed: Path) -> None:
    test = open_page(alarmed, "rules", rule="BrokerMissing")
    calm(test)
    assert test.title[0].value.endswith("rules")
    rows = test.dataframe[0].value.set_index("rule")
    assert rows.loc["BrokerMissing", "firing"] == 1
    assert rows.loc["TimeLagHigh", "condition"].endswith(": where an objective is set")
    test.toggle(key="try").set_value(True).run()
    calm(test)
    assert "**1 alert** and 1 message" in texts(test)
    assert len(test.get("plotly_chart")) == 2


def test_a_file_of_rules_that_cannot_be_used_is_told(open_page: Open, alarmed: Path) -> None:
    path = alarmed / "headroom.yaml"
    content = yaml.safe_load(path.read_text())
    content["alerting"]["rules"] = "rules.yaml"
    path.write_text(yaml.safe_dump(content))
    (alarmed / "rules.yaml").write_text("rules: {Lagg: {threshold: 1}}")
    test = open_page(alarmed, "rules")
    (message,) = [one.value for one in test.error]
    assert "left out" in message
    assert "Lagg" in message
    assert "BrokerMissing" in test.dataframe[0].value["rule"].to_list()
    for page in ("alerts", "silences"):
        test = open_page(alarmed, page)
        assert "Lagg" in test.error[0].value
        assert "cannot be shown" not in test.title[0].value


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
    (link,) = (one.proto for one in test.get("page_link") if "billing stopped" in one.proto.label)
    assert link.label.endswith("for\u00a04\u00a0min")
    assert f"alert={over.id}" in link.query_string
