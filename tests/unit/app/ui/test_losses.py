"""What pages say of all that was deleted unread in the course of an incident."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from alerting.rules.lifecycle import Alert, Worst
from app.data.context import View
from app.ui.incident_list import items
from app.ui.incidents import LOSES_DATA, Incident
from app.ui.losses import Total, by_group, losses_of, said, sentence
from lake.schemas.tables import GROUP_PARTITION_HISTORY
from tests.alert_of import alert

NOW = datetime.fromtimestamp(4000.0, UTC)


def losing(group: str = "g", **given: Any) -> Alert:
    return alert(
        **{
            "fingerprint": group,
            "check": LOSES_DATA,
            "labels": {"cluster": "east", "group": group},
            "status": "LOSING_DATA",
            "value": 300.0,
            "fired_at": 1000.0,
            "what": f"{group} loses data",
            "detail": "300 messages lost in the last 10 min.",
            **given,
        }
    )


@pytest.mark.parametrize(
    ("one", "total", "text"),
    [
        pytest.param(
            Incident(cause=losing()),
            {"g": 41_000},
            "At least 41\u202f000 messages deleted unread since 00:16.",
            id="it goes on",
        ),
        pytest.param(
            Incident(cause=losing()), {"g": 300}, "", id="no more than its own sentence says"
        ),
        pytest.param(
            Incident(cause=losing(began_before=True)),
            {"g": 1},
            "At least 1 message deleted unread since before 00:16.",
            id="nobody saw it begin",
        ),
        pytest.param(
            Incident(cause=losing(resolved_at=1600.0)),
            {"g": 41},
            "At least 41 messages deleted unread in all.",
            id="it is over",
        ),
        pytest.param(
            Incident(cause=alert(check="stopped"), symptoms=(losing(), losing("h"))),
            {"g": 5, "h": 0},
            "At least 5 messages deleted unread since 00:16.",
            id="the cause is of the same group",
        ),
        pytest.param(
            Incident(cause=alert(labels={"cluster": "east"}), symptoms=(losing(), losing("h"))),
            {"g": 5, "h": 7},
            "At least 5 messages deleted unread by g since 00:16 and 7 messages deleted unread by "
            "h since 00:16.",
            id="of several groups",
        ),
        pytest.param(
            Incident(
                cause=alert(labels={"cluster": "east"}),
                symptoms=tuple(losing(name, value=float(5 - n)) for n, name in enumerate("abcd")),
            ),
            {"a": 4, "b": 3, "c": 2},
            "At least 4 messages deleted unread by a since 00:16, 3 messages deleted unread by b "
            "since 00:16, 2 messages deleted unread by c since 00:16 and more by 1 other group.",
            id="of many groups",
        ),
    ],
)
def test_what_was_deleted_unread_is_said_with_since_when(
    view: View, one: Incident, total: dict[str, int], text: str
) -> None:
    totals = {name: Total(messages=number) for name, number in total.items()}
    assert sentence(one, losses_of(one), totals, replace(view, now=NOW)) == text


@pytest.mark.parametrize(
    ("one", "text"),
    [
        pytest.param(losing(), "from 00:16 to 00:43", id="it goes on"),
        pytest.param(losing(began_before=True), "from before 00:16 to 00:43", id="begun before"),
        pytest.param(losing(resolved_at=3000.0), "up to 00:43", id="it is over"),
    ],
)
def test_a_total_that_ends_before_the_newest_evaluation_says_when(
    view: View, one: Alert, text: str
) -> None:
    totals = {"g": Total(messages=41, until=datetime.fromtimestamp(2600.0, UTC))}
    found = Incident(cause=one)
    said_so = sentence(found, losses_of(found), totals, replace(view, now=NOW))
    assert said_so == f"At least 41 messages deleted unread {text}."


def test_a_loss_that_came_back_is_one_from_its_first_time_on() -> None:
    first = losing(worst=Worst(at=1100.0, value=900.0, detail=""), resolved_at=1200.0)
    again = losing(started_at=2000.0)
    (found,) = losses_of(Incident(cause=first, symptoms=(again,)))
    assert (found.began_at.timestamp(), found.ended_at, found.seen) == (1000.0, None, 900)


def test_the_open_alert_alone_knows_its_first_time(view: View) -> None:
    """Lists of what is open do not read the times before."""
    again = losing(started_at=2000.0, fired_at=2000.0, flaps=1, first_at=1000.0, first_before=True)
    one = Incident(cause=again)
    (found,) = losses_of(one)
    assert (found.began_at.timestamp(), found.began_before) == (1000.0, True)
    assert one.began_at == 1000.0
    (row,) = items([one], replace(view, now=NOW))
    assert row.when == "since before 00:16, again since 00:33"
    chained = Incident(cause=again, earlier=(losing(resolved_at=1900.0, began_before=True),))
    assert losses_of(chained) == losses_of(one), "pages that read them say the same"


def test_the_losses_of_one_group_are_those_of_all_groups(view: View) -> None:
    at, open_now = replace(view, now=NOW), [Incident(cause=losing()), Incident(cause=losing("h"))]
    of_all = by_group(at, open_now)
    assert by_group(at, open_now, only="h") == {"h": of_all["h"]}


def test_the_value_of_a_group_that_loses_no_more_is_no_loss() -> None:
    (found,) = losses_of(Incident(cause=losing(status="CATCHING_UP", value=5e6)))
    assert found.seen == 0


def test_no_page_says_less_than_an_evaluation_did(view: View) -> None:
    """The history follows minutes later, and may be away."""
    at = replace(view, now=NOW)
    worst = Worst(at=1100.0, value=900.0, detail="")
    one, other = Incident(cause=losing(worst=worst)), Incident(cause=alert(fingerprint="other"))
    found = said(at, [other, one])
    assert found == {one.cause.id: "At least 900 messages deleted unread since 00:16."}
    (row,) = items([one], at, lost=found)
    assert row.why == found[one.cause.id]
    (row,) = items([replace(one, cause=replace(one.cause, check="stopped"))], at, lost=found)
    assert row.why == f"{found[one.cause.id]} {one.cause.detail}"


def test_the_list_of_groups_has_the_total_of_other_pages(view: View) -> None:
    at = replace(view, now=NOW, cluster="east")
    worst = Worst(at=1100.0, value=900.0, detail="")
    over = losing("over", resolved_at=1600.0)
    elsewhere = losing("h", labels={"cluster": "west", "group": "h"})
    given = [Incident(cause=one) for one in (losing(worst=worst), over, elsewhere)]
    assert by_group(at, given) == {"g": "At least 900 lost since 00:16"}


def test_what_was_lost_since_its_begin_is_more_than_an_evaluation_knows(view: View) -> None:
    history = pl.DataFrame(
        {
            "window_start": [datetime.fromtimestamp(each, UTC) for each in (960, 1020, 1080)],
            "lost_messages_max": [300, 700, 200],
            "log_start_last": [300, 1000, 1300],
            "committed_last": [300, 1100, 1400],
        }
    ).with_columns(
        cluster=pl.lit("east"),
        grain_seconds=pl.lit(60, pl.Int32),
        group=pl.lit("g"),
        topic=pl.lit("t"),
        partition=pl.lit(0, pl.Int32),
        date=pl.col("window_start").dt.date(),
    )
    rows = pl.concat([GROUP_PARTITION_HISTORY.empty, history], how="diagonal_relaxed")
    view.lake.append(GROUP_PARTITION_HISTORY, rows)
    found = said(replace(view, now=NOW), [Incident(cause=losing())])
    assert list(found.values()) == [
        "At least 1\u202f200 messages deleted unread from 00:16 to 00:19."
    ]
