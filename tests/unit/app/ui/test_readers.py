"""When the readers of a topic stopped and read again, as its dead letters tell it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerting.rules.lifecycle import Alert, State
from app.ui.changes.readers import last_return, of_readers
from app.views.dead_letters.backlog import of_backlog, readers_of
from lake.schemas.current import READERS
from tests.alert_of import alert
from tests.unit.app.views.made_rows import rows

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def stop(group: str, minute: int, until: int | None = None, **given: Any) -> Alert:
    began, end = (
        None if one is None else (START + timedelta(minutes=one)).timestamp()
        for one in (minute, until)
    )
    over = {"state": State.RESOLVED, "resolved_at": end, "untrue_since": end} if end else {}
    made = {"started_at": began, "last_true_at": began, "fired_at": began}
    labels = {"cluster": "c", "group": group}
    return alert(**made, labels=labels, what=f"{group} stopped", **over, **given)


def test_marks_of_dead_letters_are_those_of_the_readers_of_their_origin() -> None:
    alerts = [stop("a", 1, 5), stop("b", 3), stop("other", 2, 4)]
    found = of_readers(alerts, ["a", "b"])
    assert [one.what for one in found] == ["a stopped", "b stopped", "a reads again"]
    assert found[-1].at == START + timedelta(minutes=5)
    assert last_return(alerts, ["a", "b"]) == ("a", START + timedelta(minutes=5))
    assert last_return(alerts, ["b"]) is None, "it is still stopped"
    assert of_readers([stop("a", 1, check="falling_behind")], ["a"]) == []


@pytest.mark.parametrize(
    ("minutes", "is_said"),
    [pytest.param(4, True, id="in the mean"), pytest.param(6, False, id="before it")],
)
def test_old_messages_of_a_backlog_are_said_to_be_in_the_mean(minutes: int, is_said: bool) -> None:
    said = of_backlog(("a", START), START + timedelta(minutes=minutes), UTC)
    words = "Arriving includes old messages of a backlog: a reads again since 08:00."
    assert said == (words if is_said else "")
    assert of_backlog(None, START, UTC) == ""


def test_who_redrives_is_no_source_of_dead_letters() -> None:
    given = [{"topic": "orders", "group": name} for name in ("b", "a", "redrive")]
    readers = rows(READERS, *given, {"topic": "clicks", "group": "c"})
    row = {"origin": "orders", "redrive_group": "redrive"}
    assert readers_of(row, readers) == ["a", "b"]
    assert readers_of({**row, "origin": None}, readers) == []
    assert readers_of(row, None) == []
