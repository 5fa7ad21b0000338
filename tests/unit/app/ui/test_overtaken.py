"""Advice that is older than what its subject does now."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from alerting.status.model import Status
from app.data.context import View
from app.ui.advice import advice_cards, current_advice
from app.ui.advice.advice_history import with_older
from app.ui.advice.current_advice import CurrentAdvice
from app.ui.advice.overtaken import OLDER, Known, Overtaken
from lake.schemas.tables import RECOMMENDATIONS
from scaling.advice.advice_table import from_row, recommendation_frame, recommendation_rows
from scaling.advice.follow_up import AdviceOutcome, Followed
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Confidence,
    Evidence,
    Recommendation,
    Subject,
)

GIVEN = datetime(2026, 11, 25, 5, 45, tzinfo=UTC)
NOW = GIVEN + timedelta(minutes=9)
SINCE = GIVEN + timedelta(minutes=6)
ONE = Recommendation(
    kind=AdviceKind.KEEP,
    cluster="east",
    subject="archive",
    severity=AdviceSeverity.INFO,
    confidence=Confidence.HIGH,
    reason="The group keeps up: no reason to change its consumers.",
)


def row_of(kind: AdviceKind, subject_kind: Subject = Subject.GROUP) -> dict[str, Any]:
    return recommendation_rows([replace(ONE, kind=kind, subject_kind=subject_kind)], at=GIVEN)[0]


def groups(
    status: Status, since: datetime | None, *, at_least: bool = False, members: int | None = None
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "group": ["archive"],
            "status": [status.value],
            "since": pl.Series([since], dtype=pl.Datetime("us", "UTC")),
            "since_at_least": [at_least],
            "members": pl.Series([members], dtype=pl.Int32),
        }
    )


def topics(replication: str | None) -> pl.DataFrame:
    return pl.DataFrame(
        {"topic": ["archive"], "replication": pl.Series([replication], dtype=pl.String)}
    )


@pytest.mark.parametrize(
    ("kind", "status", "is_void"),
    [
        pytest.param(AdviceKind.KEEP, Status.STOPPED, True, id="to be kept, and stopped"),
        pytest.param(AdviceKind.START_CONSUMERS, Status.CATCHING_UP, True, id="it was started"),
        pytest.param(AdviceKind.ADD_CONSUMERS, Status.STALLED, False, id="it is worse"),
    ],
)
def test_what_a_group_does_since_overtakes_its_advice(
    kind: AdviceKind, status: Status, *, is_void: bool
) -> None:
    known = Known.of(groups(status, SINCE), topics(None))
    newer = known.overtakes(row_of(kind), zone=UTC, now=NOW)
    assert newer is not None and newer.is_void is is_void
    word = status.value.lower().replace("_", " ")
    assert newer.sentence == (
        f"This advice of 05:45 is older than what the group does since 05:51: {word}."
    )
    badge = advice_cards.badge_style(from_row(row_of(kind)), newer)
    assert (badge is OLDER) is is_void


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        pytest.param(AdviceKind.KEEP, "No change was advised at 05:45.", id="to be kept"),
        pytest.param(
            AdviceKind.HOT_KEY, "The change “a hot key” was advised at 05:45.", id="a change"
        ),
    ],
)
def test_advice_that_contradicts_the_present_is_a_line(kind: AdviceKind, said: str) -> None:
    newer = Overtaken(now="what the group does since 05:51: stopped", given="05:45", is_void=True)
    assert advice_cards.in_the_past(from_row(row_of(kind)), newer) == (
        f"{said} That is older than what the group does since 05:51: stopped; the next round "
        "advises anew."
    )


@pytest.mark.parametrize(
    ("kind", "now", "said"),
    [
        pytest.param(
            AdviceKind.KEEP,
            groups(Status.STOPPED, GIVEN - timedelta(seconds=20), members=0),
            "what the group does now: stopped",
            id="found to have stopped before",
        ),
        pytest.param(
            AdviceKind.KEEP,
            groups(Status.OK, SINCE, members=3),
            "the number of its consumers: 3",
            id="a job that runs again",
        ),
        pytest.param(
            AdviceKind.START_CONSUMERS,
            groups(Status.STOPPED, None, members=2),
            "the number of its consumers: 2",
            id="started, and not seen to work yet",
        ),
    ],
)
def test_advice_where_nobody_read_is_overtaken(
    kind: AdviceKind, now: pl.DataFrame, said: str
) -> None:
    newer = Known.of(now, topics(None)).overtakes(row_of(kind) | {"current": 0}, zone=UTC, now=NOW)
    assert newer is not None and newer.is_void
    assert newer.sentence == f"This advice of 05:45 is older than {said}."


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(groups(Status.STOPPED, GIVEN - timedelta(minutes=1)), id="before"),
        pytest.param(groups(Status.STOPPED, SINCE, at_least=True), id="since when is not known"),
        pytest.param(groups(Status.STOPPED, None), id="never seen otherwise"),
        pytest.param(groups(Status.OK, SINCE), id="it keeps up"),
        pytest.param(groups(Status.UNKNOWN, SINCE), id="a poll failed"),
        pytest.param(groups(Status.OK, SINCE).clear(), id="not known"),
    ],
)
def test_what_is_not_known_to_have_changed_overtakes_nothing(rows: pl.DataFrame) -> None:
    known = Known.of(rows, topics(None).clear())
    assert known.overtakes(row_of(AdviceKind.KEEP), zone=UTC, now=NOW) is None


def test_that_a_group_is_well_is_nothing_new_to_advice_that_it_has_too_many_consumers() -> None:
    known = Known.of(groups(Status.OK, SINCE), topics(None))
    for kind in (AdviceKind.REMOVE_CONSUMERS, AdviceKind.REMOVE_IDLE_CONSUMERS):
        assert known.overtakes(row_of(kind), zone=UTC, now=NOW) is None


@pytest.mark.parametrize(
    ("kind", "replication", "said"),
    [
        pytest.param(AdviceKind.KEEP, "under-replicated", "under-replicated", id="one is out"),
        pytest.param(AdviceKind.KEEP, None, "unknown", id="unknown"),
        pytest.param(AdviceKind.KEEP, "in sync", None, id="in sync"),
        pytest.param(AdviceKind.DURABILITY, "under-replicated", None, id="a change"),
    ],
)
def test_no_reason_to_change_a_topic_is_no_answer_while_replicas_are_out_of_sync(
    kind: AdviceKind, replication: str | None, said: str | None
) -> None:
    known = Known.of(groups(Status.OK, None), topics(replication))
    newer = known.overtakes(row_of(kind, Subject.TOPIC), zone=UTC, now=NOW)
    assert (newer is None) is (said is None)
    if newer is not None:
        assert newer.is_void and newer.now == f"what its replicas do now: {said}"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        pytest.param(12, "Measured 12 s ago.", id="of now"),
        pytest.param(343, "Measured 6 min ago.", id="in whole minutes"),
        pytest.param(5000, "Measured 1 h 23 min ago.", id="old"),
    ],
)
def test_the_age_of_advice_is_said_in_few_words(view: View, seconds: int, said: str) -> None:
    at = view.now - timedelta(seconds=seconds)
    given = CurrentAdvice(rows=recommendation_frame([]), as_of=at, given_at=at)
    assert current_advice.words(given, view) == said
    anew = replace(given, changed=frozenset("abc"), changed_at=view.now)
    since = f"{said[:-1]}; 3 groups were advised on again since."
    assert current_advice.words(anew, view) == since


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        pytest.param(59, "", id="as new as the status"),
        pytest.param(540, "measured until 11:51", id="older"),
        pytest.param(86400, "measured until 22 Nov 12:00", id="of another day"),
    ],
)
def test_figures_that_are_older_than_the_status_say_when_they_were_measured(
    view: View, seconds: float, said: str
) -> None:
    assert current_advice.measured_until(view.now - timedelta(seconds=seconds), view) == said


@pytest.mark.parametrize(
    ("is_given", "minutes"),
    [
        pytest.param(True, 10, id="by the history service"),
        pytest.param(False, 1, id="evaluated here"),
    ],
)
def test_when_advice_is_due_to_be_given_anew(*, is_given: bool, minutes: int) -> None:
    given = CurrentAdvice(
        rows=recommendation_frame([]), as_of=GIVEN, given_at=GIVEN if is_given else None
    )
    assert given.next_at == GIVEN + timedelta(minutes=minutes)
    assert replace(given, as_of=None).next_at is None


def test_a_list_has_old_advice_with_its_age_and_a_step_has_none(view: View) -> None:
    given = view.now - timedelta(hours=2)
    advice = replace(ONE, cluster="east", kind=AdviceKind.START_CONSUMERS)
    rows = recommendation_frame(recommendation_rows([advice], at=given))
    view.lake.append(RECOMMENDATIONS, rows)
    assert current_advice.of_groups(view, [ONE.subject]) == {}
    assert current_advice.of_groups(view, [ONE.subject], also_old=True) == {
        ONE.subject: "old (2 h): start its consumers"
    }


@pytest.mark.parametrize(
    ("where", "topic", "is_found"),
    [
        pytest.param("web.page_views-4", "web.page_views", True, id="one"),
        pytest.param("a-1, web-2", "web", True, id="of two topics"),
        pytest.param("web-1, web-2, web-3 and 2 more", "web", True, id="many"),
        pytest.param("web-eu-4", "web", False, id="a longer name"),
    ],
)
def test_advice_on_hot_partitions_is_found_by_its_topic(
    where: str, topic: str, *, is_found: bool
) -> None:
    hot = replace(
        ONE,
        kind=AdviceKind.HOT_PARTITION,
        evidence=(Evidence(name="hot partitions", value=where),),
    )
    rows = recommendation_frame(recommendation_rows([ONE, hot], at=GIVEN))
    found = current_advice.hot_partitions_of(rows, topic)
    assert found["kind"].to_list() == ([AdviceKind.HOT_PARTITION] if is_found else [])


@pytest.mark.parametrize(
    ("status", "became"),
    [
        pytest.param(Status.CATCHING_UP, Followed.OLDER, id="folded as older on Scaling"),
        pytest.param(Status.STOPPED, Followed.STANDS, id="marked, and stands there"),
    ],
)
def test_what_became_of_advice_says_what_scaling_says(status: Status, became: Followed) -> None:
    known = Known.of(groups(status, SINCE), topics(None))
    rows = recommendation_frame(
        recommendation_rows([replace(ONE, kind=AdviceKind.ADD_CONSUMERS)], at=GIVEN)
    )
    stands = AdviceOutcome(followed=Followed.STANDS)
    (found,) = with_older([stands], rows, known, zone=UTC, now=NOW)
    assert found.followed is became
    followed = AdviceOutcome(followed=Followed.FOLLOWED)
    assert with_older([followed], rows, known, zone=UTC, now=NOW) == [followed]
