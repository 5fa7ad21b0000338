"""Silences: made, ended, refused; what pages say of those that are hidden or unreadable."""

from __future__ import annotations

import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.data import queries
from app.data.alert_store import VisibleAlerts
from config.load import load
from lake.errors import LakeError
from tests.app.conftest import NOW, Open, store_of
from tests.app.test_pages import calm, texts


def test_an_alert_of_a_maintenance_window_is_silenced_on_both_pages(
    open_page: Open, alarmed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VisibleAlerts, "is_quiet", lambda *_: True)
    said = texts(open_page(alarmed, "alerts"))
    found = re.search(r"(\d+) alerts silenced", said)
    assert found is not None and int(found[1]) > 1
    assert f"{found[1]} of {found[1]} alerts that fire are silenced" in texts(
        open_page(alarmed, "silences")
    )


def test_the_silence_that_is_chosen_to_be_ended_stays_so_when_another_is_made(
    open_page: Open, alarmed: Path
) -> None:
    def made(group: str, minutes: int) -> None:
        store, at = store_of(alarmed), NOW.timestamp()
        ends = at + 60 * minutes
        store.silence([group], starts_at=at, ends_at=ends, author="ana", comment="x", now=at)
        store.close()

    made("group=a", 10)
    made("group=b", 20)
    test = open_page(alarmed, "silences")
    chooser = test.selectbox(key="silence-to-end")
    before = chooser.id
    chooser.select_index(1).run()
    chosen = test.selectbox(key="silence-to-end").value.id
    made("group=c", 30)
    chooser = test.run().selectbox(key="silence-to-end")
    assert len(chooser.options) == 3
    assert (chooser.id, chooser.value.id) == (before, chosen)


def test_changes_that_cannot_be_read_are_not_said_to_be_none(
    open_page: Open, alarmed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: Any) -> None:
        raise LakeError("cluster_events: cut short")

    monkeypatch.setattr(queries, "changes_between", unreadable)
    store = store_of(alarmed)
    alert = next(iter(store.alerts().values()))
    store.close()
    test = open_page(alarmed, "incident", alert=alert.id)
    assert "cluster\\_events cannot be read" in test.error[0].value
    assert "No change of the cluster was seen" not in texts(test)


def test_a_silence_is_made_and_ended(open_page: Open, alarmed: Path) -> None:
    test = open_page(alarmed, "silences")
    calm(test)
    assert test.title[0].value == "No silence is on"
    test.multiselect[0].set_value(["rule=BrokerMissing", "cluster=demo"]).run()
    assert "**Silences 1 of" in texts(test)
    _, listed = (one.value for one in test.columns[-1].markdown)
    first, *others = listed.splitlines()
    assert first == "- **Broker 2 is missing** :gray-badge[silenced]"
    assert others and not any("silenced" in line for line in others), "what else fires"
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


def test_what_fires_proposes_the_matchers_of_its_silence(open_page: Open, alarmed: Path) -> None:
    test = open_page(alarmed, "silences")
    preset = test.selectbox(key="silence-preset")
    preset.set_value("Broker 2 is missing").run()
    calm(test)
    assert 'rule="BrokerMissing"' in test.multiselect[0].value
    assert "Silences 1 of" in texts(test)
    assert "End it now" not in [one.label for one in test.button], "there is none to end"


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


def test_the_form_is_compact_and_says_beside_it_what_it_would_silence(
    open_page: Open, alarmed: Path
) -> None:
    test = open_page(alarmed, "silences")
    form, preview = test.columns[-2:]
    assert [one.label for one in (*form.selectbox, *form.text_input)][1:] == ["For", "Who", "Why"]
    assert preview.markdown[0].value == "Without a matcher nothing is silenced."
    assert "- Broker 2 is missing" in preview.markdown[1].value, "all that fires is listed"
    assert test.button("FormSubmitter:silence-Silence").proto.type == "primary"
    assert "maintenance window" in test.header[0].help
    assert "maintenance window" not in texts(test)
