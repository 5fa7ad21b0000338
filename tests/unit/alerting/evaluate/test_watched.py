"""Whether the begin of a trouble was seen, and that this stays as it was first said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl
import pytest

from alerting.checks.model import Observation
from alerting.evaluate.evaluation import ClusterEvaluator, advanced
from alerting.evaluate.watched import watched, with_begins
from alerting.inputs.frames import Frames
from alerting.rules.lifecycle import GAP_SECONDS, Alert
from alerting.rules.model import AlertSeverity, Rule, evaluate
from config.settings import LakeSettings
from lake.schemas.tables import BROKERS, COLLECTIONS
from lake.storage.store import Lake
from tests.unit.alerting.current.sample_rows import NOW, rows

DISK = Rule(name="DiskFull", check="disk_free", severity=AlertSeverity.WARNING, threshold=0.1)
GONE = Rule(name="Gone", check="broker_missing", severity=AlertSeverity.CRITICAL, threshold=0.0)
POLL_SECONDS = 15.0

Poll = Mapping[int, int | None]
"""Of each broker: how much of its disk is free in percent; None: that could not be read."""
MISSING = -1
FINE: Poll = {1: 90, 2: 90}


def frames(polls: Sequence[Poll], *, step: float = POLL_SECONDS) -> Frames:
    """Return the rows of some polls, as they are known after the last one."""
    tables: dict[str, list[pl.DataFrame]] = {BROKERS.name: [], COLLECTIONS.name: []}
    section = {"source": "kafka", "section": "brokers", "status": "ok", "interval_seconds": 15.0}
    for number, poll in enumerate(polls):
        brokers = (
            {"broker_id": broker, "is_alive": free != MISSING, "is_controller": False}
            | (
                {}
                if free in (None, MISSING)
                else {"disk_total_bytes": 100, "disk_free_bytes": free}
            )
            for broker, free in poll.items()
        )
        tables[BROKERS.name].append(rows(BROKERS, *brokers, ago=-number * step))
        tables[COLLECTIONS.name].append(rows(COLLECTIONS, section, ago=-number * step))
    now = NOW.timestamp() + (len(polls) - 1) * step + 1
    whole = {name: pl.concat(given) for name, given in tables.items()}
    return Frames(cluster="c", now=now, tables=whole)


def evaluator() -> ClusterEvaluator:
    return ClusterEvaluator(Lake(LakeSettings(uri="memory-only")), watched_since=0.0)


def of_first_broker(
    polls: Sequence[Poll], *, rule: Rule = DISK, first: int = 0, step: float = POLL_SECONDS
) -> list[bool | None]:
    """Return at each evaluation whether the alert of broker 1 may have begun before its date."""
    evaluates, alerts = evaluator(), dict[str, Alert]()
    said: list[bool | None] = []
    for number in range(first, len(polls)):
        found = evaluates.evaluate_frames(frames(polls[: number + 1], step=step))
        alerts = advanced(alerts, found, [rule])
        said.append(
            next((a.began_before for a in alerts.values() if a.labels["broker"] == "1"), None)
        )
    return said


FULL: Poll = {1: 5, 2: 90}
UNREAD: Poll = {1: None, 2: 90}


@pytest.mark.parametrize(
    ("polls", "said"),
    [
        pytest.param([FINE, FULL, FULL], [None, False, False], id="it began while watched"),
        pytest.param([FULL, FULL, FULL], [True] * 3, id="so in the first sample, and stays so"),
        pytest.param([FINE, FULL, UNREAD, FULL], [None, *[False] * 3], id="unread in between"),
        pytest.param([UNREAD, FULL, FULL], [None, True, True], id="unread before"),
        pytest.param([{2: 90}, FULL, FULL], [None, True, True], id="of a broker that is new"),
        pytest.param([FULL, FINE, FULL], [True, True, False], id="it comes back"),
    ],
)
def test_what_was_watched_never_began_before(
    polls: Sequence[Poll], said: Sequence[bool | None]
) -> None:
    """Given a check that knows no date, then the evaluation before decides."""
    assert of_first_broker(polls) == list(said)


def test_nobody_watched_before_the_first_evaluation_or_in_a_gap() -> None:
    polls = [FINE, FINE, FULL]
    assert of_first_broker(polls, first=2) == [True], "samples alone do not tell a value's begin"
    assert of_first_broker(polls, step=GAP_SECONDS + 10) == [None, None, True]


def test_samples_tell_when_a_broker_went() -> None:
    gone: Poll = {1: MISSING, 2: 90}
    assert of_first_broker([FINE, gone], rule=GONE, first=1) == [False], "dated by samples"
    assert of_first_broker([gone, gone], rule=GONE) == [True, True]


def test_other_rules_look_anew() -> None:
    evaluates = evaluator()
    evaluates.evaluate_frames(frames([FINE]))
    evaluates.ask_anew()
    (alert,) = advanced({}, evaluates.evaluate_frames(frames([FINE, FULL])), [DISK]).values()
    assert alert.began_before


@pytest.mark.parametrize(
    ("was_watched", "since", "in_first_sample", "may_be_older"),
    [
        pytest.param(True, 900.0, True, False, id="watched, though so in the first sample"),
        pytest.param(False, 900.0, True, True, id="so in the first sample"),
        pytest.param(False, 900.0, False, False, id="dated"),
        pytest.param(False, None, False, True, id="not dated"),
        pytest.param(True, None, False, False, id="watched, not dated"),
    ],
)
def test_one_answer_to_whether_a_begin_was_seen(
    was_watched: bool, since: float | None, in_first_sample: bool, may_be_older: bool
) -> None:
    given = frames([FINE, FULL])
    seen = Observation(
        check="disk_free",
        labels={"cluster": "c", "broker": "1"},
        value=0.05,
        since=since,
        began_before=in_first_sample,
    )
    first = frames([FINE])
    looked = watched(first, evaluator().evaluate_frames(first).seen) if was_watched else None
    (found,) = with_begins(evaluate((DISK,), [seen]), {}, looked, given).findings
    assert found.observation == replace(seen, began_before=may_be_older)
