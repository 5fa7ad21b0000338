"""Every check: while a source of it fails its alert stays, and where all is well it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl
import pytest

from alerting.checks.model import CheckInput
from alerting.checks.registry import CHECKS
from alerting.current.rows import current_rows
from alerting.evaluate.evaluation import ClusterEvaluator
from alerting.evaluate.observations import evaluate_cluster, observe
from alerting.inputs.frames import Frames
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.lifecycle import Alert, State, advance
from alerting.rules.model import AlertSeverity, Rule
from alerting.status.phrases import duration
from config.settings import LakeSettings
from lake.schemas.current import GROUP_STATUS
from lake.schemas.model import Table
from lake.schemas.tables import (
    BROKERS,
    COLLECTIONS,
    CONNECTOR_TASKS,
    CONNECTORS,
    DEAD_LETTERS,
    GROUP_OFFSETS,
    LOG_DIRECTORIES,
    PARTITIONS,
    QUORUM,
    TOPICS,
)
from lake.storage.store import Lake
from tests.unit.alerting.checks.check_world import (
    CASES,
    END,
    FINE,
    SECTIONS,
    TRUE_UNTIL,
    Case,
    Row,
    always,
    at,
    frame,
)
from tests.unit.alerting.checks.polled_world import world
from tests.unit.alerting.evaluate.polled_rows import classified

OBJECTIVES = {"time_lag": 30.0, "lag": 100.0}
RULES = {
    rule.check: Rule(
        name="Tested",
        check=rule.check,
        severity=AlertSeverity.CRITICAL,
        threshold=OBJECTIVES.get(rule.check, rule.threshold),
    )
    for rule in DEFAULT_ALERT_RULES
}
FAILED: Row = {"status": "failed", "error": "refused", "rows": 0}
OF_MONITOR = [name for name, check in CHECKS.items() if COLLECTIONS in check.sources]
OF_CLUSTER = [name for name in CHECKS if name not in OF_MONITOR]
SOURCES = [(name, table) for name in OF_CLUSTER for table in CHECKS[name].sources]
POLLED = [(name, table) for name, table in SOURCES if table is not CONNECTOR_TASKS]
"""Those with a section of their own; ``connectors`` writes ``connector_tasks``, too."""


def evaluated(name: str, frames: Frames, alerts: Mapping[str, Alert]) -> dict[str, Alert]:
    evaluation = evaluate_cluster(
        [RULES[name]], observe(CheckInput(frames=frames, classify=classified), name), "c"
    )
    return advance(alerts, evaluation, {}, frames.now)


@cache
def fired(name: str) -> Alert:
    """Return the alert of a check that has just become true, with its labels."""
    alerts = evaluated(name, world(CASES[name], TRUE_UNTIL), {})
    (alert,) = alerts.values()
    assert alert.state is State.FIRING
    assert set(alert.labels) == {"cluster", *CHECKS[name].labels}
    return alert


def then(name: str, frames: Frames) -> Alert:
    """Return what becomes of it."""
    alert = fired(name)
    return evaluated(name, frames, {alert.fingerprint: alert})[alert.fingerprint]


def stays(name: str, frames: Frames) -> None:
    alert = then(name, frames)
    assert alert.state is State.FIRING
    assert alert.no_data_since == frames.now


def section(name: str, table: Table) -> tuple[str, str]:
    """Return the source and section that write the thing of a check."""
    sources = [one for one, sections in SECTIONS.items() if table.name in sections]
    return sources[0], table.name


def ids(values: list[tuple[str, Table]]) -> list[Any]:
    return [pytest.param(name, table, id=f"{name}-{table.name}") for name, table in values]


def test_every_check_has_sources_a_case_and_a_rule() -> None:
    assert CASES.keys() == CHECKS.keys() == RULES.keys()
    assert all(check.sources for check in CHECKS.values())


@pytest.mark.parametrize("name", CHECKS)
def test_an_alert_ends_where_all_is_read_and_well(name: str) -> None:
    alert = then(name, world(CASES[name], END, first=END - 40))
    assert (alert.state, alert.no_data_since) == (State.RESOLVED, None)


@pytest.mark.parametrize(("name", "table"), ids(SOURCES))
def test_an_alert_stays_while_a_table_cannot_be_read(name: str, table: Table) -> None:
    frames = world(CASES[name], END, first=END - 40)
    kept = {key: rows for key, rows in frames.tables.items() if key != table.name}
    stays(name, replace(frames, tables=kept, errors={table.name: "unreadable"}))


@pytest.mark.parametrize("name", CHECKS)
def test_an_alert_stays_while_the_collections_cannot_be_read(name: str) -> None:
    frames = world(CASES[name], END, first=END - 40)
    kept = {key: rows for key, rows in frames.tables.items() if key != "collections"}
    stays(name, replace(frames, tables=kept, errors={"collections": "unreadable"}))


@pytest.mark.parametrize(("name", "table"), ids(POLLED))
@pytest.mark.parametrize(
    ("now", "attempt"),
    [
        pytest.param(TRUE_UNTIL + 1, FAILED, id="failed once"),
        pytest.param(TRUE_UNTIL + 6, FAILED, id="failed for 90 s"),
        pytest.param(END, FAILED, id="failed for minutes"),
        pytest.param(TRUE_UNTIL + 6, None, id="not tried for 90 s"),
        pytest.param(END, None, id="not tried for minutes"),
    ],
)
def test_an_alert_stays_while_a_section_fails(
    name: str, table: Table, now: int, attempt: Row | None
) -> None:
    frames = world(
        CASES[name],
        now,
        first=max(0, now - 40),
        sections={section(name, table): attempt},
        until={table: TRUE_UNTIL},
    )
    alert = then(name, frames)
    assert alert.state is State.FIRING


@pytest.mark.parametrize(("name", "table"), ids([one for one in POLLED if one[1] is not TOPICS]))
def test_an_alert_stays_while_rows_are_missing_although_the_section_works(
    name: str, table: Table
) -> None:
    """They could not be written."""
    stays(name, world(CASES[name], END, first=END - 40, until={table: TRUE_UNTIL}))


@pytest.mark.parametrize(("name", "table"), ids([one for one in POLLED if one[1] is TOPICS]))
def test_an_alert_stays_where_topics_were_not_written_for_hours(name: str, table: Table) -> None:
    hours = 2 * 240
    frames = world(CASES[name], hours, first=hours - 40)
    old = world(CASES[name], TRUE_UNTIL).tables[table.name]
    alert = then(name, replace(frames, tables={**frames.tables, table.name: old}))
    assert alert.state is State.FIRING


@pytest.mark.parametrize(
    ("name", "table"),
    ids(
        [
            (name, table)
            for name, table in POLLED
            if CHECKS[name].labels
            and {"broker_id" if label == "broker" else label for label in CHECKS[name].labels}
            <= set(table.polars_schema)
        ]
    ),
)
def test_an_alert_stays_while_its_thing_is_missing_in_what_was_read_in_part(
    name: str, table: Table
) -> None:
    partly: Row = {"status": "partial", "error": "2 of 3 could not be read"}
    frames = world(
        CASES[name],
        END,
        first=END - 40,
        after={table: None},
        sections={section(name, table): partly},
    )
    stays(name, frames)


def test_a_thing_that_goes_away_from_what_was_always_read_in_part_is_gone() -> None:
    """A right that is lacking for good must not keep the alerts of what was deleted."""
    frames = world(CASES["broker_missing"], END, first=END - 40, after={BROKERS: None})
    is_partial = pl.col("section") == "brokers"
    partly = frames.tables["collections"].with_columns(
        pl.when(is_partial).then(pl.lit("partial")).otherwise("status").alias("status"),
        pl.when(is_partial)
        .then(pl.format("{} of 99 refuse", pl.col("poll_id")))
        .otherwise("error")
        .alias("error"),
    )
    alert = then("broker_missing", replace(frames, tables={**frames.tables, "collections": partly}))
    assert alert.state is State.RESOLVED


@pytest.mark.parametrize(
    ("name", "number"),
    [(name, number) for name, case in CASES.items() for number in range(len(case.nulls))],
)
def test_an_alert_stays_while_a_value_is_unknown(name: str, number: int) -> None:
    nulls = CASES[name].nulls[number]
    alert = then(name, world(CASES[name], END, first=END - 40, after=nulls))
    assert alert.state is State.FIRING
    assert alert.no_data_since is not None


def test_how_bad_it_is_begins_with_what_tells_most() -> None:
    assert fired("tasks_failed").detail == "Json: ConnectException: tolerated no more."
    assert fired("broker_missing").detail == (
        "1 of 2 brokers is left. If broker 2 fails too, writes with acks=all stop on 1 partition."
    )
    assert fired("collection_failed").detail == "It has not worked yet: refused."
    assert "old of" in fired("data_loss_deadline").detail[:60]


@pytest.mark.parametrize(
    ("name", "bad"),
    [("connector_failed", {"state": "FAILED"}), ("tasks_failed", {"tasks_failed": 1})],
)
def test_a_connector_fails_since_the_first_poll_that_saw_it(name: str, bad: Row) -> None:
    later = Case(true={CONNECTORS: lambda poll: bad if poll > 10 else {}})
    before = Case(true={CONNECTORS: always(**bad)})
    for case, since in ((later, at(11).timestamp()), (before, None)):
        seen = observe(CheckInput(frames=world(case, TRUE_UNTIL), classify=classified), name)
        assert [one.since for one in seen.observations if one.value] == [since]


def test_what_loses_data_has_no_deadline_to_come() -> None:
    losing = CASES["losing_data"].true[GROUP_OFFSETS]
    case = Case(
        true={
            **CASES["losing_data"].true,
            GROUP_OFFSETS: lambda poll: losing(poll) and {**losing(poll), "time_lag_seconds": 9e3},
            TOPICS: always(retention_seconds=1e4),
        }
    )
    frames = world(case, TRUE_UNTIL)
    given = CheckInput(frames=frames, classify=classified)
    (found,) = CHECKS["data_loss_deadline"].observe(given)
    assert found.value is not None and found.deadline is None
    evaluator = ClusterEvaluator(Lake(LakeSettings(uri="memory-only")), watched_since=0.0)
    groups = current_rows(evaluator.evaluate_frames(frames), (), {})[GROUP_STATUS]
    (row,) = groups.filter(group="g").to_dicts()
    assert (row["status"], row["data_loss_at"]) == ("LOSING_DATA", None)


def test_a_deadline_stands_in_no_text_and_stays_while_it_is_unknown() -> None:
    name = "data_loss_deadline"
    alert = fired(name)
    assert alert.value is not None and alert.deadline == at(TRUE_UNTIL).timestamp() + alert.value
    assert alert.what == "g loses data soon"
    assert duration(alert.value) not in alert.detail and " in " not in alert.detail
    unknown = then(name, world(CASES[name], END, first=END - 40, after=CASES[name].nulls[0]))
    assert unknown.deadline == alert.deadline
    assert fired("certificate_expiry").what.endswith(" expires soon")


@pytest.mark.parametrize("name", [name for name in OF_MONITOR if name != "nothing_collected"])
def test_an_alert_of_a_section_stays_while_nothing_is_collected(name: str) -> None:
    none = frame(COLLECTIONS, [])
    stays(name, Frames(cluster="c", now=at(600).timestamp(), tables={"collections": none}))


class Recording(dict[str, pl.DataFrame]):
    """Tables that remember which of them were asked for."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        super().__init__(tables)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)


FOR_WORDS = {
    "broker_missing": (PARTITIONS, QUORUM),
    "leader_imbalance": (BROKERS,),
    "partitions_offline": (LOG_DIRECTORIES,),
    "losing_data": (TOPICS,),
}
"""What a check looks at for its words alone: where that is not read, its alerts go on."""


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_looks_at_the_tables_that_it_declares(name: str) -> None:
    frames = world(CASES[name], TRUE_UNTIL)
    tables = Recording(frames.tables)
    given = CheckInput(frames=replace(frames, tables=tables), classify=classified)
    assert [one for one in CHECKS[name].evaluate(given) if one.value is not None]
    declared = {table.name for table in (*CHECKS[name].sources, *FOR_WORDS.get(name, ()))}
    assert tables.asked | {"collections"} == declared | {"collections"}


@pytest.mark.parametrize(("seen_after", "is_new"), [(20, False), (200, True)])
def test_a_reason_is_new_only_where_the_source_was_watched_before(
    seen_after: int, is_new: bool
) -> None:
    """A rare reason comes for the first time so many polls after the source is seen first."""
    fine = dict(FINE[DEAD_LETTERS])
    rare = {**fine, "reasons": [{"key": "b.Rare", "value": 1}, *fine["reasons"]]}
    told = []
    for now in range(seen_after, seen_after + 90):
        rows = [(poll, rare if poll >= seen_after else fine) for poll in range(now + 1)]
        tables = {"dead_letters": frame(DEAD_LETTERS, rows)}
        frames = Frames(cluster="c", now=at(now).timestamp(), tables=tables)
        given = CheckInput(frames=frames, classify=classified)
        told += [seen.value for seen in CHECKS["dead_letter_new_reason"].observe(given)]
    assert (1.0 in told) is is_new


@pytest.mark.parametrize(("redrive_group", "told"), [(None, 1), ("g", 0)])
def test_short_retention_is_told_only_of_dead_letters_that_nobody_redrives(
    redrive_group: str | None, told: int
) -> None:
    name = "dead_letter_retention"
    kept = {**CASES[name].true, DEAD_LETTERS: always(redrive_group=redrive_group)}
    given = CheckInput(
        frames=world(replace(CASES[name], true=kept), TRUE_UNTIL), classify=classified
    )
    assert len(list(CHECKS[name].evaluate(given))) == told
