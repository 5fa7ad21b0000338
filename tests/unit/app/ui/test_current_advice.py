"""Advice beside the open alerts whose next step it is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from alerting.status.descriptions import SCALING_STEP, WAIT_STEP
from app.data.context import View
from app.ui.advice import advice_cards
from app.ui.advice.advice_facts import facts_of_group
from app.ui.advice.current_advice import CurrentAdvice
from app.ui.advice.urgency import as_alerted, with_losses
from lake.schemas.current import OPEN_ALERTS, READERS
from lake.schemas.tables import GROUPS
from scaling.advice.advice_table import recommendation_frame, recommendation_rows
from scaling.advice.model import AdviceKind, AdviceSeverity, Confidence, Recommendation, Subject

NOW = datetime(2026, 11, 25, tzinfo=UTC)
WATCHED = Recommendation(
    kind=AdviceKind.HOT_PARTITION,
    cluster="east",
    subject="sessions",
    severity=AdviceSeverity.WATCH,
    confidence=Confidence.HIGH,
    reason="The group is late on one partition alone.",
)
IDLE = replace(WATCHED, kind=AdviceKind.REMOVE_IDLE_CONSUMERS, severity=AdviceSeverity.INFO)
OTHER = replace(WATCHED, subject="archive")


def alert(**given: Any) -> pl.DataFrame:
    row = {
        **dict.fromkeys(OPEN_ALERTS.polars_schema),
        **{"state": "firing", "severity": "critical", "step": SCALING_STEP},
        "labels": [{"key": "cluster", "value": "east"}, {"key": "group", "value": "sessions"}],
        **given,
    }
    return pl.DataFrame([row], schema=OPEN_ALERTS.polars_schema)


def severities(alerts: pl.DataFrame) -> list[tuple[str, str]]:
    rows = recommendation_frame(recommendation_rows([OTHER, WATCHED, IDLE], at=NOW))
    return list(as_alerted(rows, alerts).select("subject", "severity").iter_rows())


AS_GIVEN = [("archive", "WATCH"), ("sessions", "WATCH"), ("sessions", "INFO")]


def test_advice_is_no_less_urgent_than_the_alert_that_has_it_as_its_step() -> None:
    raised = [("sessions", "ACT_NOW"), ("archive", "WATCH"), ("sessions", "INFO")]
    assert severities(alert()) == raised, "and first, as the alert is"


URGENT = replace(WATCHED, kind=AdviceKind.ADD_CONSUMERS, severity=AdviceSeverity.ACT_NOW)
LOST = replace(URGENT, kind=AdviceKind.DATA_LOST)


def test_a_size_is_no_more_urgent_than_the_alert_that_has_it_as_its_step() -> None:
    rows = recommendation_frame(
        recommendation_rows([LOST, URGENT, replace(URGENT, subject="archive")], at=NOW)
    )

    def urgent(*alerts: pl.DataFrame) -> list[tuple[str, str]]:
        found = as_alerted(rows, pl.concat(alerts)).filter(pl.col("severity") == "ACT_NOW")
        return sorted(found.select("subject", "kind").iter_rows())

    lost, sized, other = (
        *(("sessions", "data_lost"), ("sessions", "add_consumers")),
        ("archive", "add_consumers"),
    )
    watch = alert(severity="warning")
    assert urgent(watch) == sorted([lost, other]), "what has an alert of its own stays urgent"
    retention_is_near = alert(fingerprint="r", step="Raise the retention.")
    for both in (retention_is_near, retention_is_near.with_columns(state=pl.lit("pending"))):
        assert urgent(watch, both) == sorted([lost, sized, other])
    assert urgent(alert(severity="warning", state="pending")) == sorted([lost, sized, other])


def test_advice_on_a_topic_is_urgent_as_soon_as_a_reader_of_it_loses_data() -> None:
    near = replace(WATCHED, kind=AdviceKind.RETENTION_DEADLINE, subject_kind=Subject.TOPIC)
    given = [replace(near, subject=name) for name in ("clicks", "orders")]
    rows = recommendation_frame(recommendation_rows(given, at=NOW))
    readers = pl.DataFrame(
        [
            {**dict.fromkeys(READERS.polars_schema), "topic": topic, "group": "a", "loss": loss}
            for topic, loss in (("clicks", "coming"), ("orders", "lost"))
        ],
        schema=READERS.polars_schema,
    )
    found = with_losses(rows, readers).select("subject", "severity").rows()
    assert found == [("orders", "ACT_NOW"), ("clicks", "WATCH")]


@pytest.mark.parametrize(
    "given",
    [
        {"severity": "warning"},
        {"state": "pending"},
        {"recovering_since": NOW},
        {"step": WAIT_STEP},
        {"labels": [{"key": "topic", "value": "sessions"}]},
    ],
)
def test_other_alerts_leave_it_as_it_is(given: dict[str, Any]) -> None:
    assert severities(alert(**given)) == AS_GIVEN


def test_what_advice_is_taken_from_is_read_once_a_round(view: View) -> None:
    def poll(at: datetime, members: int) -> None:
        row = {"cluster": "east", "observed_at": at, "poll_id": str(at), "group": "a"}
        view.lake.append(GROUPS, pl.DataFrame([{**row, "members": members}]))

    given = CurrentAdvice(rows=recommendation_frame([]), as_of=view.now, given_at=view.now)
    assert facts_of_group(view, "a", given).facts is None
    poll(view.now, 1)
    first = facts_of_group(view, "a", given)
    assert first.facts is not None, "what a poll did not know is asked again"
    assert (first.facts.members, first.at) == (1, view.now)
    later = replace(view, now=view.now + timedelta(minutes=5))
    poll(later.now, 2)
    assert facts_of_group(later, "a", given) is first
    anew = facts_of_group(later, "a", replace(given, as_of=later.now))
    assert anew.facts is not None
    assert (anew.facts.members, anew.at) == (2, later.now)


@pytest.mark.parametrize(
    ("why", "is_kept"),
    [
        ("No members for 5 s: 8 s behind with 940", False),
        ("the group's members could not be read", True),
    ],
)
def test_advice_beside_a_status_has_no_figures_of_an_older_one(why: str, is_kept: bool) -> None:
    unknown = replace(WATCHED, kind=AdviceKind.UNKNOWN, unknown_reason=why)
    found = advice_cards.beside_status(unknown).unknown_reason
    assert (why == found) is is_kept
    assert advice_cards.beside_status(replace(unknown, kind=AdviceKind.KEEP)).unknown_reason == why
