"""Silences in the alert store."""

from __future__ import annotations

from pathlib import Path

import pytest

from alerting.notify.problems import silence_problems
from alerting.notify.store import AlertStore
from alerting.rules.lifecycle import LAST_MOMENT
from alerting.rules.matchers import parse_matcher
from tests.unit.alerting.notify.storing import damage, step


def test_silences(store: AlertStore) -> None:
    step(store, 100.0, "payments-eu")
    (alert,) = store.alerts().values()
    number = store.silence(
        ["group=~payments-.*", "rule=GroupStopped"],
        starts_at=100.0,
        ends_at=200.0,
        author="ana",
        comment="deploy",
        now=100.0,
    )
    (silence,) = store.silences(150.0)
    assert silence.covers(alert, 150.0)
    assert not silence.covers(alert, 99.0)
    assert not silence.covers(alert, 200.0)
    assert store.end_silence(number, 160.0)
    assert not store.end_silence(number, 170.0)
    assert store.silences(165.0) == []


@pytest.mark.parametrize(
    ("matchers", "ends_at", "author", "comment"),
    [
        pytest.param([], 200.0, "a", "c", id="no matcher"),
        pytest.param(["a=b"], 50.0, "a", "c", id="in the past"),
        pytest.param(["a=b"], 200.0, " ", "c", id="no author"),
        pytest.param(["a=b"], 200.0, "a", "", id="no comment"),
    ],
)
def test_a_silence_that_is_not_whole_is_refused(
    store: AlertStore, matchers: list[str], ends_at: float, author: str, comment: str
) -> None:
    with pytest.raises(ValueError, match="silence"):
        store.silence(
            matchers, starts_at=100.0, ends_at=ends_at, author=author, comment=comment, now=100.0
        )
    assert store.silences() == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('group=~"batch\\ "', id="a quoted blank at the end"),
        pytest.param('group=~""\\""', id="quotes in quotes"),
        pytest.param('group=" a"', id="a blank at the beginning"),
        pytest.param('group="""', id="a quote"),
        pytest.param("group=", id="nothing"),
        pytest.param('group!=" \n "', id="blanks alone"),
        pytest.param("group!~a=b", id="an operator in the value"),
    ],
)
def test_a_silence_is_read_as_it_was_made(store: AlertStore, text: str) -> None:
    made = {"starts_at": 100.0, "ends_at": 200.0, "author": "a", "comment": "c", "now": 100.0}
    store.silence([text], **made)  # type: ignore[arg-type]
    (silence,) = store.silences(150.0)
    assert silence.matchers == (parse_matcher(text),)
    assert parse_matcher(str(silence)) == silence.matchers[0]


@pytest.mark.parametrize(
    "matchers",
    [
        '["group=~batch\\\\ "]',
        '[["group", "=~", "batch\\\\"]]',
        '[["group", "~", "a"]]',
        '[["no label", "=", "a"]]',
        '[["group", "="]]',
        "[]",
        "{}",
        "garbage",
    ],
)
def test_a_silence_that_cannot_be_read_silences_nothing_and_can_be_ended(
    store: AlertStore, tmp_path: Path, matchers: str
) -> None:
    step(store, 100.0, "a")
    good = store.silence(
        ["group=a"], starts_at=100.0, ends_at=300.0, author="ana", comment="deploy", now=100.0
    )
    damage(
        tmp_path,
        "INSERT INTO silences (matchers, starts_at, ends_at, author, comment, created_at) "
        "VALUES (?, 100, 300, 'eve', 'x', 100)",
        matchers,
    )
    bad, other = store.silences(150.0)
    (alert,) = store.alerts().values()
    assert not bad.covers(alert, 150.0)
    assert other.covers(alert, 150.0)
    (line,) = silence_problems([bad, other], 150.0)
    assert f"silence {bad.id} of eve" in line
    assert store.end_silence(bad.id, 160.0)
    assert [one.id for one in store.silences(170.0)] == [good]
    assert silence_problems([bad], 400.0) == []


def test_a_silence_beyond_all_dates_is_refused_and_one_in_the_store_can_be_ended(
    store: AlertStore, tmp_path: Path
) -> None:
    made = {"starts_at": 0.0, "author": "eve", "comment": "for ever", "now": 0.0}
    for ends_at in (1e15, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"ten years|must end"):
            store.silence(["group=a"], ends_at=ends_at, **made)
    number = store.silence(["group=a"], ends_at=500.0, **made)
    damage(tmp_path, "UPDATE silences SET ends_at = 1e300")
    (silence,) = store.silences(100.0)
    assert (silence.problem, silence.ends_at) == ("its times cannot be read", LAST_MOMENT)
    assert store.end_silence(number, 160.0)
    assert store.silences(170.0) == []
