"""Rules from a file, and unit tests of rules."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from alerting.__main__ import app
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.model import Rule
from alerting.rules.rule_file import RuleSet, load_rules, parse_duration, rules_from, usable_rules
from alerting.tools.rule_tests import parse_series, run_tests
from config.errors import ConfigError

ROOT = Path(__file__).parents[4]
HERE = Path("rules.yaml")


def read(text: str) -> RuleSet:
    return rules_from(yaml.safe_load(text), HERE)


def named(found: RuleSet, name: str) -> Rule:
    return next(rule for rule in found.rules if rule.name == name)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("90s", 90, id="seconds"),
        pytest.param("5m", 300, id="minutes"),
        pytest.param("1h30m", 5400, id="both"),
        pytest.param("2d", 172800, id="days"),
        pytest.param(15, 15, id="a number"),
        pytest.param("500ms", 0.5, id="milliseconds"),
    ],
)
def test_durations(text: str | int, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "5", "-3s", "5 minutes", -1, True])
def test_what_is_no_duration_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


def test_a_file_changes_rules_and_adds_others() -> None:
    found = read("""
rules:
  GroupFallingBehind:
    for: 5m
    severity: critical
    labels: {team: logistics}
    overrides:
      - match: {group: "batch-.*"}
        enabled: false
      - match: {cluster: production, group: "pay.*"}
        threshold: 1000
  TimeLagHigh: {threshold: 5m, runbook: "https://wiki/late"}
  GroupRewound: {enabled: false}
  PaymentsLate: {check: time_lag, threshold: 30s, severity: critical, match: {group: payments}}
""")
    assert len(found.rules) == len(DEFAULT_ALERT_RULES) + 1
    behind = named(found, "GroupFallingBehind")
    assert (behind.for_seconds, behind.severity) == (300.0, "critical")
    assert behind.applied_to({"cluster": "x", "group": "batch-1"}) is None
    paying = behind.applied_to({"cluster": "production", "group": "payments"})
    assert paying is not None
    assert (paying.threshold, paying.labels) == (1000.0, {"team": "logistics"})
    assert named(found, "TimeLagHigh").threshold == 300.0
    assert named(found, "GroupRewound").applied_to({"cluster": "x", "group": "y"}) is None
    own = named(found, "PaymentsLate")
    assert own.applied_to({"cluster": "x", "group": "other"}) is None
    assert own.applied_to({"cluster": "x", "group": "payments"}) is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("rules: {Own: {threshold: 1}}", "Own: a rule of one's own", id="no check"),
        pytest.param("rules: {LagHigh: {check: lagg}}", "there is no check lagg", id="unknown"),
        pytest.param("rules: {LagHigh: {fro: 5m}}", "fro: unknown key", id="unknown key"),
        pytest.param("rules: {LagHigh: {for: soon}}", "must be a duration", id="no duration"),
        pytest.param("rules: {LagHigh: {severity: bad}}", "severity", id="no severity"),
        pytest.param(
            "rules: {LagHigh: {overrides: [{match: {group: '('}}]}}",
            "not a regular expression",
            id="no expression",
        ),
        pytest.param("[1, 2]", "must be a mapping", id="a list"),
        pytest.param(
            "maintenance: [{name: a, from: '25:00', to: '02:00'}]", "time of the day", id="no time"
        ),
    ],
)
def test_what_cannot_be_used_is_told_by_its_key(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        read(text)


@pytest.mark.parametrize(
    "value",
    [
        "2026-02-30",
        "2026-01-01 99:99:99",
        "9" * 5000,
        "9" * 400,
        "!!int x",
        "!!float x",
        "!!bool x",
        "!!timestamp x",
        "{? [a] : b}",
        "&x [*x]",
        "[" * 600 + "]" * 600,
        ".inf",
        ".nan",
        '"\\ud800"',
    ],
    ids=lambda value: value[:20],
)
def test_whatever_stands_in_the_file_is_one_line(tmp_path: Path, value: str) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(f"rules:\n  GroupStopped:\n    for: {value}\n")
    with pytest.raises(ConfigError) as error:
        load_rules(path)
    assert str(error.value).startswith(f"{path}: ")
    assert len(str(error.value).splitlines()) == 1
    config = tmp_path / "headroom.yaml"
    config.write_text("clusters: [{name: c, bootstrap_servers: 'localhost:1'}]")
    moments = ("--from", "2026-01-05T10:00Z", "--to", "2026-01-05T11:00Z")
    result = command("replay", "--config", str(config), "--rules", str(path), *moments)
    assert result.exit_code == 2
    assert len(usable_rules(path).problems) == 1


def test_one_bad_rule_is_left_out_and_the_rest_works(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text("""
rules:
  GroupStopped: {for: soon}
  LagHigh: {threshold: 7, severity: bad, fro: 1m}
  GroupFallingBehind: {for: 3m}
  Own: {threshold: 1}
  Late: {check: time_lag, threshold: 30s, severity: critical}
maintenance:
  - {name: bad, from: "25:00", to: "02:00"}
  - {name: night, from: "23:00", to: "01:00"}
colour: red
""")
    found = usable_rules(path)
    assert [line.removeprefix(f"{path}: ").partition(": ")[0] for line in found.problems] == [
        "rules.GroupStopped.for",
        "rules.LagHigh.severity",
        "rules.LagHigh.fro",
        "maintenance[0].from",
        "colour",
        "rules.Own",
    ]
    default = {rule.name: rule for rule in DEFAULT_ALERT_RULES}
    assert named(found, "GroupStopped") == default["GroupStopped"]
    assert named(found, "LagHigh") == default["LagHigh"]
    assert named(found, "GroupFallingBehind").for_seconds == 180.0
    assert named(found, "Late").threshold == 30.0
    assert len(found.rules) == len(DEFAULT_ALERT_RULES) + 1
    assert [window.name for window in found.maintenance] == ["night"]


@pytest.mark.parametrize("text", ["rules: [", "[1, 2]", None])
def test_of_a_file_that_is_none_the_default_rules_are_left(
    tmp_path: Path, text: str | None
) -> None:
    path = tmp_path / "rules.yaml"
    if text is not None:
        path.write_text(text)
    found = usable_rules(path)
    assert found.rules == DEFAULT_ALERT_RULES
    (line,) = found.problems
    assert line.startswith(f"{path}: ")
    assert line.endswith("only the default rules are used")


def test_maintenance_windows_come_again_each_week() -> None:
    found = read("""
maintenance:
  - {name: night, days: [saturday], from: "23:00", to: "01:00", match: {cluster: c}}
""")
    (window,) = found.maintenance
    saturday = 1767999600.0 - 1767999600.0 % 86400  # 2026-01-09 00:00 UTC, a Friday
    moments = [(24 + 23) * 3600, (24 + 24) * 3600 + 1800, (48 + 1) * 3600, 23 * 3600, 1800]
    assert [window.is_on(saturday + at) for at in moments] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        pytest.param("5x3", [5, 5, 5, 5], id="constant"),
        pytest.param("1+2x3", [1, 3, 5, 7], id="rising"),
        pytest.param("9-3x2 _x2 1", [9, 6, 3, None, None, 1], id="falling, unknown, one"),
    ],
)
def test_series(text: str, values: list[float | None]) -> None:
    assert parse_series(text) == values


TESTS = """
rules: own.yaml
tests:
  - name: a stuck partition is reported as stalled
    interval: 15s
    groups:
      payments:
        - {topic: orders, partition: 0, log_end: "1000+150x40", committed: "990+150x10 2490x30"}
        - {topic: orders, partition: 1, log_end: "1000+150x40", committed: "990+150x40"}
    alerts:
      - {at: 9m, rule: GroupStalled, severity: critical, labels: {group: payments}}
    none_at: [1m]
  - name: a disk that fills up
    series:
      - {check: disk_free, labels: {broker: "1"}, values: "0.3-0.01x30"}
    alerts:
      - {at: 1m, rule: DiskSpaceLow, state: pending, labels: {broker: "1"}}
"""


def test_rule_tests_pass_and_fail(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("rules: {DiskSpaceLow: {threshold: 0.28, for: 5m}}")
    path = tmp_path / "tests.yaml"
    path.write_text(TESTS)
    assert [result.failures for result in run_tests(path)] == [(), ()]
    (tmp_path / "own.yaml").write_text("rules: {GroupStalled: {enabled: false}}")
    stalled, disk = run_tests(path)
    assert "at 540 s: GroupStalled is not firing" in stalled.failures[0]
    assert "DiskSpaceLow is not pending; there is nothing" in disk.failures[0]


def command(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_the_command_tells_what_failed_and_exits_so(tmp_path: Path) -> None:
    path = tmp_path / "tests.yaml"
    path.write_text(TESTS.replace("rules: own.yaml", ""))
    answer = command("test", str(path))
    assert answer.exit_code == 1
    assert "ok     a stuck partition is reported as stalled" in answer.stdout
    assert "FAILED a disk that fills up" in answer.stdout
    path.write_text("tests: [{name: x, series: [{check: lag, values: 1..2}]}]")
    answer = command("test", str(path))
    assert answer.exit_code == 1
    assert len(answer.stderr.strip().splitlines()) == 1
    assert "a series reads" in answer.stderr


def test_silences_and_status_from_the_command_line(tmp_path: Path) -> None:
    config = tmp_path / "headroom.yaml"
    config.write_text("clusters: [{name: c, bootstrap_servers: 'localhost:1'}]")
    given = ("--config", str(config))
    made = command(
        *("silence", *given, "group=~pay.*", "--for", "2h", "--author", "ana", "--comment", "x")
    )
    assert (made.exit_code, made.stdout) == (0, "silence 1 is made\n")
    (row,) = json.loads(command("silence", *given, "--list", "--json").stdout)
    assert (row["matchers"], row["author"]) == (["group=~pay.*"], "ana")
    assert row["ends_at"] - row["starts_at"] == 7200
    assert command("silence", *given, "--end", "1").exit_code == 0
    refused = command("silence", *given, "--end", "1")
    assert refused.exit_code == 1
    assert refused.stderr == "there is no silence 1 that has not ended\n"
    status = command("status", *given, "--json")
    assert status.exit_code == 0
    assert json.loads(status.stdout)["firing"] == []
    nothing = command("test-notify", *given)
    assert nothing.exit_code == 1
    assert "no target is configured" in nothing.stderr
    unknown = command("ack", *given, "abc", "--author", "ana")
    assert unknown.stderr == "no alert that fires has an id that begins with abc\n"


def test_the_documentation_lists_every_default_rule() -> None:
    text = (ROOT / "docs/alerts.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)`.*\| (\w+) \|$", text, re.MULTILINE)
    listed = {tuple(row) for row in rows}
    assert listed == {(rule.name, rule.check, rule.severity.value) for rule in DEFAULT_ALERT_RULES}
