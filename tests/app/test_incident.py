"""The page of an incident: what it tells, and what is done there."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, timedelta
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from alerting.rules.lifecycle import State
from app.data.alert_store import VisibleAlerts
from app.style.format import clock, exact
from config.load import load
from lake.schemas.current import GROUP_STATUS
from lake.schemas.tables import GROUP_PARTITION_HISTORY
from lake.storage.store import Lake
from tests.app.conftest import NOW, Open, store_of
from tests.app.generated import write_gold
from tests.app.test_alerts import listed
from tests.app.test_pages import calm, texts


def tiles_of(test: AppTest) -> dict[str, str]:
    return {one.label: one.value for one in test.metric}


def test_an_incident_is_told_from_its_first_second(
    open_page: Open, alarmed: Path, tab_titles: list[str]
) -> None:
    (link,) = [
        row["link"]
        for row in listed(open_page(alarmed, "alerts"))
        if row["what"] == "Broker 2 is missing"
    ]
    store = store_of(alarmed)
    address = urlsplit(link["href"])
    parameters = dict(parse_qsl(address.query))
    named = parameters["alert"]
    store.acknowledge(named, author="ana", comment="the disk", now=NOW.timestamp())
    alerts = store.alerts().values()
    (broker,) = (one for one in alerts if one.id == named)
    inhibited = [one.labels for one in alerts if one.inhibited_by == broker.fingerprint]
    follow = {labels["group"] for labels in inhibited if "group" in labels}
    store.close()
    test = open_page(alarmed, address.path.removeprefix("./"), **parameters)
    calm(test)
    assert test.title[0].value == "Broker 2 is missing"
    assert tab_titles[-1] == "(3) Broker 2 is missing · Incident · Headroom", "ana looks after one"
    test.query_params["alert"] = "another"
    test.run()
    assert tab_titles[-1] == "(3) Incident · Headroom"
    test.query_params["alert"] = named
    said = texts(test.run())
    tiles = {one.label: (one.value, one.delta) for one in test.metric}
    assert list(tiles) == ["Began", "Lasts for", "At its worst", "Looked after by"]
    assert tiles["Looked after by"] == ("ana", "the disk")
    assert tiles["At its worst"][0] == "act now"
    week = {row["what"]: row for row in listed(open_page(alarmed, "week"))}
    assert f"{week['Broker 2 is missing']['note']}." in said.replace("\\", ""), "as on Week"
    steps = test.dataframe[0].value
    assert steps["at"].is_monotonic_increasing
    first = list(steps["kind"]).index("cause")
    assert steps["after"][first] == "0 s"
    assert set(steps["kind"][:first]) <= {"symptom", "pending", "end"}, "changes are folded"
    assert {"cause", "symptom", "person"} <= set(steps["kind"])
    at_risk, late, chart = test.get("plotly_chart")
    assert "Broker 2 is missing" in chart.proto.spec
    assert "incident-risk" in at_risk.proto.id, "before anything else"
    drawn = json.loads(at_risk.proto.spec)["data"]
    assert [trace["name"] for trace in drawn] == ["under-replicated", "under min ISR", "offline"]
    groups = {trace["name"] for trace in json.loads(late.proto.spec)["data"]}
    assert groups - {"objective 5 min"} == follow
    (markdown,) = [one.value for one in test.code if "# Broker 2 is missing" in one.value]
    assert "| under-replicated | 0 | 55 | " in markdown.replace("\\", "")
    assert "| stock | " not in markdown


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
    assert tiles_of(test)["Looked after by"] == "ana"
    assert not [one for one in test.button if one.label == "Acknowledge"], "once is enough"
    store = store_of(alarmed)
    (made,) = store.silences(NOW.timestamp())
    assert made.covers(broker, made.starts_at)
    assert store.acknowledgements()[broker.id].author == "ana"
    at = NOW.timestamp()
    texts_of = [str(one) for one in made.matchers]
    store.silence(texts_of, starts_at=at, ends_at=at + 60, author="ana", comment="now", now=at)
    store.close()
    (who,) = (
        one
        for one in open_page(alarmed, "incident", alert=broker.id).metric
        if one.label == "Looked after by"
    )
    assert who.delta.endswith(", silenced")


def test_an_acknowledgement_is_taken_back_where_it_was_made(
    open_page: Open, alarmed: Path, tab_titles: list[str]
) -> None:
    store = store_of(alarmed)
    (broker,) = [one for one in store.alerts().values() if one.rule == "BrokerMissing"]
    before = open_page(alarmed, "overview").title[0].value
    at = NOW.timestamp() - 60
    store.acknowledge(broker.id, author="ana", comment="the disk", now=at)
    headline = open_page(alarmed, "overview").title[0].value
    assert headline != before and "1 looked after" in headline
    test = open_page(alarmed, "incident", alert=broker.id)
    said = f"ana looks after it since {clock(NOW - timedelta(seconds=60), UTC, now=NOW)}: the disk"
    assert said in texts(test).replace("\\", "")
    form = f"FormSubmitter:take-back-{broker.id}-{at}-Take back"
    test.button(form).click().run()
    assert "who takes an acknowledgement back" in test.error[0].value
    next(one for one in test.text_input if one.label == "Who takes it back").input("ben")
    # In another browser eve takes it over meanwhile.
    store.acknowledge(broker.id, author="eve", comment="", now=at + 30)
    test.button(form).click().run()
    calm(test)
    assert store.acknowledgements()[broker.id].author == "eve", "hers stays"
    next(one for one in test.text_input if one.label == "Who takes it back").input("ben")
    test.button(f"FormSubmitter:take-back-{broker.id}-{at + 30}-Take back").click().run()
    calm(test)
    assert tiles_of(test)["Looked after by"] == "nobody"
    assert [one.label for one in test.button if one.label == "Take back"] == []
    assert [one.label for one in test.button if one.label == "Acknowledge"] == ["Acknowledge"]
    steps = test.dataframe[0].value
    assert "ben took it back" in list(steps["what"])
    assert store.acknowledgements() == {}
    store.close()
    assert open_page(alarmed, "overview").title[0].value == before


def test_an_incident_says_what_was_deleted_unread_since_it_began(
    open_page: Open, alarmed: Path
) -> None:
    began = NOW - timedelta(minutes=30)
    store = store_of(alarmed)
    (stopped, *_) = [one for one in store.alerts().values() if one.check == "stopped"]
    group = stopped.labels["group"]
    lost = replace(
        stopped,
        check="losing_data",
        rule="GroupLosingData",
        fingerprint="lost",
        what=f"{group} loses data",
        started_at=began.timestamp(),
        since=None,
        inhibited_by=None,
        began_before=False,
        worst=None,
        value=100.0,
        status="LOSING_DATA",
    )
    others = {one.fingerprint: one for one in store.alerts().values() if one is not stopped}
    cluster = lost.labels["cluster"]
    store.save(cluster, others | {"lost": lost}, {}, [], NOW.timestamp())
    store.close()
    lake = Lake(load(alarmed / "headroom.yaml").lake)
    status = lake.current.read(GROUP_STATUS, cluster)
    assert status is not None
    topic = status.filter(group=group)["topics"].item()[0]
    minutes = [
        {
            "cluster": cluster,
            "grain_seconds": 60,
            "window_start": began.replace(second=0) + timedelta(minutes=number),
            "group": group,
            "topic": topic,
            "partition": 99,
            "lost_messages_max": 100,
            "log_start_last": 1000 * number,
            "committed_last": 1000 * number,
            "date": (began + timedelta(minutes=number)).date(),
        }
        for number in range(20)
    ]
    write_gold(lake, GROUP_PARTITION_HISTORY, pl.DataFrame(minutes))
    test = open_page(alarmed, "incident", alert=lost.id)
    calm(test)
    said = f"At least {exact(2000)} messages deleted unread since {clock(began, UTC, now=NOW)}"
    assert said in texts(test).replace("\\", "")
    (markdown,) = [one.value for one in test.code if f"# {group} loses" in one.value]
    assert said in markdown.replace("\\", "")
    (row,) = [one for one in listed(open_page(alarmed, "alerts")) if one["what"] == lost.what]
    assert said in row["why"], "as the list does"


@pytest.mark.parametrize(
    ("ago", "lasted", "at_risk"),
    [
        pytest.param(timedelta(seconds=5), None, "chart", id="its first seconds"),
        pytest.param(timedelta(days=60), timedelta(minutes=5), "not known", id="long ago"),
    ],
)
def test_an_incident_is_whole_in_its_first_seconds_and_when_samples_of_then_are_gone(
    open_page: Open,
    alarmed: Path,
    monkeypatch: pytest.MonkeyPatch,
    ago: timedelta,
    lasted: timedelta | None,
    at_risk: str,
) -> None:
    store = store_of(alarmed)
    (broker,) = [one for one in store.alerts().values() if one.rule == "BrokerMissing"]
    store.close()
    began = (NOW - ago).timestamp()
    told = replace(
        broker,
        since=began,
        started_at=began,
        fired_at=began,
        first_at=None,
        last_true_at=began,
        state=State.FIRING if lasted is None else State.RESOLVED,
        resolved_at=None if lasted is None else began + lasted.total_seconds(),
    )
    monkeypatch.setattr(VisibleAlerts, "alert", lambda *_: told)
    monkeypatch.setattr(VisibleAlerts, "alerts", lambda *_: {told.fingerprint: told})
    monkeypatch.setattr(VisibleAlerts, "around", lambda *_, **__: [told])
    test = open_page(alarmed, "incident", alert=broker.id)
    calm(test)
    assert [one.delta for one in test.metric if not one.delta.strip()] == [], "no tile is empty"
    drawn = [one.proto.id for one in test.get("plotly_chart")]
    assert any("incident-timeline" in name for name in drawn)
    is_drawn = any("incident-risk" in name for name in drawn)
    assert is_drawn is (at_risk == "chart")
    assert ("at risk then is not known" in texts(test)) is not is_drawn
    assert "cause" in list(test.dataframe[0].value["kind"])
