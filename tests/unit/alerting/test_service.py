"""The alerting service goes on whatever stands in its rules, silences and store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
import yaml
from typer.testing import CliRunner, Result

from alerting.__main__ import app
from alerting.errors import StoreError
from alerting.notify.store import AlertStore
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.model import Rule
from alerting.service import SERVICE, AlertingService
from config.load import load
from lake.schemas.tables import BROKERS, COLLECTIONS
from lake.storage.store import Lake

Start = Callable[[], AlertingService]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration with a file of rules, and one poll in which a broker is missing."""
    (tmp_path / "headroom.yaml").write_text(
        yaml.safe_dump(
            {
                "clusters": [
                    {"name": name, "bootstrap_servers": "localhost:1"} for name in ("one", "two")
                ],
                "lake": {"uri": "lake"},
                "alerting": {"state": "alerts.sqlite", "rules": "rules.yaml"},
            }
        )
    )
    write_rules(tmp_path, "rules: {BrokerMissing: {for: 0s}}")
    lake = Lake(load(tmp_path / "headroom.yaml").lake)
    for cluster in ("one", "two"):
        poll = {"cluster": cluster, "observed_at": datetime.now(UTC), "poll_id": "1"}
        sections = ("brokers", "partitions", "groups", "group_offsets")
        done = {**poll, "source": "kafka", "status": "ok", "interval_seconds": 15.0}
        lake.append(COLLECTIONS, pl.DataFrame([{**done, "section": name} for name in sections]))
        brokers = [
            {**poll, "broker_id": number, "is_alive": number == 1, "is_controller": number == 1}
            for number in (1, 2)
        ]
        lake.append(BROKERS, pl.DataFrame(brokers, schema_overrides={"broker_id": pl.Int32}))
    return tmp_path


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    started: list[AlertingService] = []

    def begin() -> AlertingService:
        started.append(AlertingService(load(folder / "headroom.yaml")))
        return started[-1]

    yield begin
    for service in started:
        service.close()


def write_rules(folder: Path, text: str) -> None:
    """Write the file of rules; its size differs each time, so that the change is seen."""
    path = folder / "rules.yaml"
    size = path.stat().st_size if path.exists() else 0
    path.write_text(text + "\n" + "#" * max(0, size + 1 - len(text)))


def alerting(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--config", str(folder / "headroom.yaml")])


def damage(folder: Path, query: str) -> None:
    with closing(sqlite3.connect(folder / "alerts.sqlite")) as connection, connection:
        connection.execute(query)


def problems(service: AlertingService) -> list[object]:
    found = (service.store.noted(SERVICE) or {})["problems"]
    assert isinstance(found, list)
    return found


def fires(service: AlertingService) -> list[str]:
    found = service.store.alerts().values()
    return sorted(alert.labels["cluster"] for alert in found if alert.rule == "BrokerMissing")


def rule(service: AlertingService, name: str) -> Rule:
    return next(one for one in service.rules.rules if one.name == name)


def test_a_clock_that_is_set_makes_no_sample_old(folder: Path) -> None:
    """Given fresh samples, when the clock jumps by more than a sample may be old, then nothing
    is said to be missing: the next poll is not due yet."""
    write_rules(folder, "rules: {NothingCollected: {for: 0s}, DataStale: {for: 0s}}")
    ahead = 0.0
    service = AlertingService(
        load(folder / "headroom.yaml"), clock=lambda: datetime.now(UTC).timestamp() + ahead
    )
    try:
        service.evaluate()
        ahead = 70.0
        service.evaluate()
        assert {one.rule for one in service.store.alerts().values()} == {"BrokerMissing"}
    finally:
        service.close()


TYPOS = [
    pytest.param("rules: {GroupStopped: {for: 2026-02-30}}", id="no date"),
    pytest.param("rules: {GroupStopped: {? [a] : b}}", id="a list as a key"),
    pytest.param("rules: [", id="no YAML"),
    pytest.param("rules: " + "[" * 600, id="too deep"),
]


def test_a_bad_rule_of_a_running_service_is_left_out_as_at_its_start(
    folder: Path, start: Start
) -> None:
    service = start()
    write_rules(
        folder,
        "rules: {GroupStopped: {for: soon}, GroupStalled: {for: 7m}}\n"
        "maintenance: [{name: nightly, from: '01:00', to: '02:00'}]",
    )
    service.evaluate()
    assert rule(service, "GroupStalled").for_seconds == 420.0
    assert [one.name for one in service.rules.maintenance] == ["nightly"]
    (line,) = problems(service)
    assert str(line).startswith(f"left out: {folder}/rules.yaml: rules.GroupStopped.for: ")
    service.close()
    assert start().rules == service.rules


@pytest.mark.parametrize("text", TYPOS)
def test_a_typo_in_the_rules_of_a_running_service_keeps_the_old_ones_and_is_said(
    folder: Path, start: Start, text: str
) -> None:
    write_rules(folder, "rules: {BrokerMissing: {for: 0s}, GroupStopped: {for: 7m}}")
    service = start()
    service.evaluate()
    assert problems(service) == []
    write_rules(folder, text)
    service.evaluate()
    service.evaluate()
    assert rule(service, "GroupStopped").for_seconds == 420.0
    assert fires(service) == ["one", "two"]
    (line,) = problems(service)
    assert str(line).startswith(f"the rules stay as they were: {folder}/rules.yaml: ")
    printed = alerting(folder, "status")
    assert printed.exit_code == 3, printed.output
    assert "the rules stay as they were" in printed.output
    assert json.loads(alerting(folder, "status", "--json").stdout)["problems"] == [line]
    write_rules(folder, "rules: {GroupStopped: {for: 8m}}")
    service.evaluate()
    assert rule(service, "GroupStopped").for_seconds == 480.0
    assert problems(service) == []


def test_a_file_of_rules_that_is_deleted_keeps_the_old_ones(folder: Path, start: Start) -> None:
    service = start()
    (folder / "rules.yaml").unlink()
    service.evaluate()
    assert rule(service, "BrokerMissing").for_seconds == 0.0
    assert "cannot be read" in str(problems(service)[0])


def test_a_service_starts_without_the_rule_that_is_bad(folder: Path, start: Start) -> None:
    write_rules(folder, "rules: {BrokerMissing: {for: 0s}, Own: {check: lagg}}")
    service = start()
    service.evaluate()
    assert fires(service) == ["one", "two"]
    (line,) = problems(service)
    assert str(line).startswith(f"left out: {folder}/rules.yaml: rules.Own.check: there is no")


@pytest.mark.parametrize("text", TYPOS[:2] + TYPOS[3:])
def test_a_service_whose_rules_are_no_yaml_starts_with_the_default_ones(
    folder: Path, start: Start, text: str
) -> None:
    write_rules(folder, text)
    service = start()
    assert service.rules.rules == DEFAULT_ALERT_RULES
    service.evaluate()
    (line,) = problems(service)
    assert "only the default rules are used" in str(line)


@pytest.mark.parametrize("matcher", ['group=~"batch\\ "', 'group=~""\\""'])
def test_silences_that_once_stopped_everything_are_made_listed_and_ended(
    folder: Path, start: Start, matcher: str
) -> None:
    made = alerting(
        folder, "silence", matcher, "--for", "2h", "--author", "ana", "--comment", "deploy"
    )
    assert made.exit_code == 0, made.output
    service = start()
    service.evaluate()
    assert (service.store.noted(SERVICE) or {})["failures"] == {}
    assert fires(service) == ["one", "two"]
    listed = json.loads(alerting(folder, "silence", "--list", "--json").stdout)
    assert [one["matchers"] for one in listed] == [[matcher]]
    assert alerting(folder, "status").exit_code == 3
    assert alerting(folder, "silence", "--end", "1").exit_code == 0
    assert "no silence" in alerting(folder, "silence", "--list").output


def test_an_acknowledgement_is_taken_back_by_a_command(folder: Path, start: Start) -> None:
    service = start()
    service.evaluate()
    id_ = next(one.id for one in service.store.alerts().values())

    def ack(*given: str) -> tuple[int, str]:
        done = alerting(folder, "ack", id_, *given)
        return done.exit_code, done.output.strip()

    back = ("--take-back", "--author", "ben")
    assert ack(*back) == (1, f"nobody has acknowledged {id_}")
    assert ack("--author", "ana")[1].startswith(f"{id_} is acknowledged: ")
    assert ack("--take-back")[0] == 1, "somebody takes it back"
    assert service.store.acknowledgements()[id_].author == "ana"
    assert ack(*back)[1].startswith(f"{id_} is not acknowledged any more: ")
    assert service.store.acknowledgements() == {}


def test_what_a_terminal_would_obey_is_not_printed(folder: Path, start: Start) -> None:
    hostile = "\x1b]0;owned\x07\x9b31m\u202ebatch"
    service = start()
    service.evaluate()
    damage(folder, r"UPDATE alerts SET body = replace(body, 'roker', '\u001b]0;owned\u202e')")
    made = alerting(
        folder, "silence", f"group={hostile}", "--for", "2h", "--author", hostile, "--comment", "x"
    )
    said = [
        made,
        alerting(folder, "silence", "--list"),
        alerting(folder, "status"),
        alerting(folder, "ack", hostile),
        *(alerting(folder, "ack", one.id) for one in service.store.alerts().values()),
        alerting(folder, "explain", hostile),
    ]
    texts = "".join(one.output for one in said)
    assert texts.count("]0;owned") >= 6
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(texts)


def test_a_silence_that_cannot_be_read_is_said_and_can_be_ended(folder: Path, start: Start) -> None:
    service = start()
    damage(
        folder,
        "INSERT INTO silences (matchers, starts_at, ends_at, author, comment, created_at) "
        """VALUES ('["group=~batch\\\\ "]', 0, 4e9, 'eve', 'x', 0)""",
    )
    service.evaluate()
    assert (service.store.noted(SERVICE) or {})["failures"] == {}
    assert fires(service) == ["one", "two"]
    (line,) = problems(service)
    assert str(line).startswith("silence 1 of eve silences nothing, as it cannot be read")
    assert "silence 1 of eve" in alerting(folder, "status").output
    assert "cannot be read" in alerting(folder, "silence", "--list").output
    assert alerting(folder, "silence", "--end", "1").exit_code == 0
    service.evaluate()
    assert problems(service) == []


@pytest.mark.parametrize(
    "query",
    [
        "UPDATE alerts SET body = '{}' WHERE cluster = 'one'",
        "UPDATE alerts SET body = json_set(body, '$.severity', 'odd') WHERE cluster = 'one'",
        "UPDATE notified SET body = 'garbage' WHERE cluster = 'one'",
    ],
    ids=["alert", "severity", "notified"],
)
def test_a_garbage_row_stops_no_cluster_and_is_said(folder: Path, start: Start, query: str) -> None:
    service = start()
    service.evaluate()
    damage(folder, query)
    for _ in range(2):
        service.evaluate()
        assert (service.store.noted(SERVICE) or {})["failures"] == {}
        assert fires(service) == ["one", "two"]
        (line,) = problems(service)
        assert "cannot be read and was left out" in str(line)
    assert "was left out" in alerting(folder, "status").output


def test_a_store_of_another_version_is_one_line(folder: Path, start: Start) -> None:
    AlertStore(folder / "alerts.sqlite").close()
    damage(folder, "PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="version 99"):
        start()
    for command in (["status"], ["silence", "--list"], ["run"]):
        result = alerting(folder, *command)
        assert result.exit_code == 1
        assert len(result.stderr.strip().splitlines()) == 1
        assert "move the file away" in result.stderr


def test_a_folder_that_cannot_be_written_is_one_line(folder: Path, start: Start) -> None:
    (folder / "alerts.sqlite.lock").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        start()
