from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alerting.__main__ import app
from alerting.status.model import DEFAULT_STATUS_RULES
from alerting.tools.benchmark.baselines import burrow, grafana, strimzi
from alerting.tools.benchmark.headroom import ours
from alerting.tools.benchmark.run import EVALUATORS, evaluate_scenario
from alerting.tools.benchmark.scoring import Fired, score
from simulation.scenarios import families
from simulation.scenarios.model import (
    Scenario,
    ScenarioError,
    ScenarioPartition,
    ScenarioSample,
    Truth,
    as_document,
    parse_scenario,
)
from simulation.scenarios.overdue import OBJECTIVE_SECONDS, open_while_overdue, overdue_times
from simulation.scenarios.record import seen_from
from tests.selection import exhaustive

ALWAYS = {
    "broker_outage",
    "crash_loop",
    "deploy",
    "first_seen",
    "nulls",
    "pauses_repeat",
    "recreated_topic",
    "retention_race",
    "rolling_deploy",
    "steady",
    "sudden_stop",
    "transaction_markers",
}
"""A scenario of each kind of thing that happens to a group; the others are exhaustive."""
VARIANTS = range(1, 5)
OVERDUE_SECONDS = 180.0
"""Within that a group that is overdue is to be told of."""
FIRST_SIGHT = (
    *("crashing_before", "hung_before", "losing_before"),
    *("overloaded_before", "stopped_from_the_start"),
)


def of_lags(lags: list[int | None], poll: float = 15.0) -> Scenario:
    samples = tuple(
        ScenarioSample(
            t=index * poll,
            log_start=0,
            log_end=10_000 + index,
            committed=None if lag is None else 10_000 + index - lag,
        )
        for index, lag in enumerate(lags)
    )
    return Scenario(
        name="lags",
        poll_seconds=poll,
        group="billing",
        partitions=(ScenarioPartition(topic="orders", partition=0, samples=samples),),
        truth=(),
    )


INCIDENT = replace(
    of_lags([0] * 41), truth=(Truth(begin=100.0, end=300.0, status="STALLED", should_alert=True),)
)


def fired(begin: float, end: float, severity: str = "critical", status: str = "STALLED") -> Fired:
    return Fired(begin=begin, end=end, rule="GroupStalled", status=status, severity=severity)


@pytest.mark.parametrize(
    ("alerts", "result", "delays"),
    [
        pytest.param([fired(130, 310)], "right", (30.0,), id="notified while it lasts"),
        pytest.param([], "missed", (), id="nothing notified"),
        pytest.param([fired(50, 60)], "missed, false alarm", (), id="notified before"),
        pytest.param([fired(400, 420)], "missed, false alarm", (), id="notified after"),
        pytest.param([fired(320, 330)], "missed", (), id="too late, but nobody knew of the end"),
        pytest.param([fired(130, 310, "info")], "missed", (), id="info tells nobody"),
        pytest.param([fired(50, 60, "info")], "missed", (), id="info is no false alarm either"),
        pytest.param(
            [fired(130, 310, status="UNKNOWN")], "missed", (), id="unknown tells of nothing"
        ),
        pytest.param([fired(130, 310), fired(500, 510)], "false alarm", (30.0,), id="one too many"),
    ],
)
def test_score(alerts: list[Fired], result: str, delays: tuple[float, ...]) -> None:
    found = score(INCIDENT, alerts)

    assert found.result == result
    assert found.delays == delays


def test_the_same_alert_twice_in_one_incident_is_a_flap_and_four_messages() -> None:
    found = score(INCIDENT, [fired(130, 160), fired(200, 310)])

    assert (found.flaps, found.sent, found.is_right) == (1, 4, True)


def test_either_is_right_where_it_is_open_whether_to_notify() -> None:
    is_open = replace(INCIDENT, truth=(replace(INCIDENT.truth[0], should_alert=None),))

    for alerts in ([], [fired(130, 310)]):
        assert score(is_open, alerts).result == "right"
    assert score(is_open, [fired(50, 60)]).result == "false alarm"
    assert parse_scenario(json.loads(json.dumps(as_document(is_open)))) == is_open


def test_overdue_counts_from_when_a_group_stays_later_than_its_objective() -> None:
    """It reads nothing from 600 s on: five minutes later it is late by five minutes."""
    lags = [0] * 41 + [index for index in range(1, 60)]
    late = replace(
        of_lags(list(lags)),
        truth=(Truth(begin=600.0, end=1485.0, status="FALLING_BEHIND", should_alert=True),),
    )
    assert DEFAULT_STATUS_RULES.objective_seconds == OBJECTIVE_SECONDS
    assert overdue_times(late, 600.0, 1485.0) == [(900.0, 1485.0)]
    assert score(late, [fired(700, 1485)]).overdue == (0.0,)
    assert score(late, [fired(1080, 1485)]).overdue == (180.0,)

    back = of_lags([*lags[:70], 0, *lags[:20]])
    assert overdue_times(back, 600.0, 1485.0) == []


def test_an_alert_on_a_peak_without_a_yesterday_is_false_unless_the_group_is_overdue() -> None:
    lags = [0] * 41 + [index for index in range(1, 60)] + [0] * 60
    calm = Truth(begin=0.0, end=2385.0, status="OK", should_alert=False)
    peak = open_while_overdue(replace(of_lags(list(lags)), truth=(calm,)))

    assert [(one.begin, one.end, one.should_alert) for one in peak.truth] == [
        (0.0, 900.0, False),
        (900.0, 1485.0, None),
        (1485.0, 2385.0, False),
    ]
    assert score(peak, []).is_right
    assert score(peak, [fired(900, 1500)]).is_right
    assert score(peak, [fired(885, 1500)]).false_alerts == 1
    assert score(peak, [fired(1530, 1600)]).false_alerts == 1
    known = open_while_overdue(replace(peak, truth=(calm,)), until=900.0)
    assert known.truth == (calm,)


def test_a_scenario_seen_from_the_middle_keeps_its_truth() -> None:
    found = seen_from(150.0, INCIDENT)

    assert found.times[0] == 0.0 and len(found.times) == 31
    assert found.truth == (replace(INCIDENT.truth[0], begin=0.0, end=150.0),)
    assert seen_from(301.0, INCIDENT).truth == ()


def test_strimzi_needs_ten_seconds_over_a_thousand() -> None:
    [alert] = strimzi(of_lags([1000, 1001, 1001, 1000, None, 1001]))

    assert (alert.begin, alert.end) == (30.0, 45.0)


def test_grafana_needs_a_quarter_of_an_hour_of_growth() -> None:
    assert grafana(of_lags(list(range(0, 600, 10)))) == []
    [alert] = grafana(of_lags(list(range(0, 700, 10))))
    assert alert.begin == 915.0


def test_burrow_reads_a_commit_where_the_offset_moved() -> None:
    [alert] = burrow(of_lags([5 * index for index in range(1, 30)]))

    assert alert.begin == 0.0
    assert burrow(of_lags([0] * 30)) == []


@pytest.mark.parametrize(
    "family", [*sorted(ALWAYS), *exhaustive(*sorted(families().keys() - ALWAYS))]
)
def test_ours_is_right_on(family: str) -> None:
    classified = evaluate_scenario(families()[family](0))

    assert set(classified.scores) == set(EVALUATORS)
    assert classified.scores["headroom"].result == "right", classified.fired["headroom"]


@pytest.mark.parametrize(
    ("family", "variant"),
    [
        pytest.param("clock_skew", 9788, id="minutes without a poll are no lateness"),
        pytest.param("rolling_deploy", 10008, id="the others have more to do, for a time"),
    ],
)
def test_no_alert_on_what_was_once_false(family: str, variant: int) -> None:
    assert ours(families()[family](variant)) == []


def test_a_peak_above_yesterdays_that_pauses_is_told_while_it_matters() -> None:
    scenario = families()["season_outgrown"](2)

    [told] = score(scenario, ours(scenario)).overdue
    assert told <= OVERDUE_SECONDS


@pytest.mark.parametrize("family", ["crash_loop", "crashing_before"])
def test_members_that_leave_again_end_no_alert(family: str) -> None:
    [alert] = ours(families()[family](3))

    assert not alert.resolved


@pytest.mark.parametrize("variant", [0, *exhaustive(*VARIANTS)])
@pytest.mark.parametrize("family", FIRST_SIGHT)
def test_each_trouble_of_a_new_installation_is_told_within_ten_minutes(
    family: str, variant: int
) -> None:
    scenario = families()[family](variant)

    found = score(scenario, ours(scenario))

    assert found.result == "right"
    assert max(found.delays) <= 600.0


@pytest.mark.exhaustive
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("family", sorted(families()))
def test_ours_is_right_on_other_rates_cadences_and_lengths(family: str, variant: int) -> None:
    scenario = families()[family](variant)

    found = score(scenario, ours(scenario))

    assert found.result == "right"
    assert max(found.overdue, default=0.0) <= OVERDUE_SECONDS


def test_there_are_enough_scenarios_and_variants_differ() -> None:
    assert len(families()) >= 30
    steady = families()["steady"]
    assert steady(1) == steady(1)
    assert steady(1).partitions != steady(2).partitions


def test_scenario_survives_its_file_and_nulls_are_kept() -> None:
    scenario = families()["broker_outage"](0)

    assert parse_scenario(json.loads(json.dumps(as_document(scenario)))) == scenario


@pytest.mark.parametrize(
    ("change", "names"),
    [
        pytest.param({"poll_seconds": None}, "poll_seconds", id="no cadence"),
        pytest.param({"poll_seconds": 0}, "poll_seconds", id="cadence of zero"),
        pytest.param({"partitions": {}}, "partitions", id="partitions are no list"),
        pytest.param({"partitions": [{"topic": "t"}]}, "has no samples", id="no samples"),
        pytest.param({"truth": [{"from": 0}]}, "has no to", id="truth without an end"),
    ],
)
def test_bad_scenario_names_the_key(change: dict[str, object], names: str) -> None:
    document = {**as_document(of_lags([1])), **change}

    with pytest.raises(ScenarioError, match=names):
        parse_scenario(document)


def test_command_judges_a_folder_of_files(tmp_path: Path) -> None:
    scenario = families()["hung_group"](0)
    (tmp_path / "one.json").write_text(json.dumps(as_document(scenario)))

    result = CliRunner().invoke(app, ["benchmark", "--scenarios", str(tmp_path), "--json"])

    assert result.exit_code == 0, result.output
    [one] = json.loads(result.stdout)["scenarios"]
    assert one["name"] == "hung group"
    [alert] = one["fired"]
    assert alert["rule"] == "GroupStalled"
    assert (alert["status"], alert["severity"]) == ("STALLED", "critical")
    assert scenario.truth[1].begin < alert["from"] < scenario.truth[1].end <= alert["to"]
    assert set(one["baselines"]) == {"burrow", "strimzi", "grafana"}


def test_truth_is_not_read_by_the_evaluation() -> None:
    scenario = families()["poison_partition"](0)

    without = evaluate_scenario(replace(scenario, truth=()))

    assert without.fired == evaluate_scenario(scenario).fired


@pytest.mark.parametrize("text", ["{", "[]", '{"name": "x"}'])
def test_command_says_in_a_line_what_is_wrong_with_a_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)

    result = CliRunner().invoke(app, ["benchmark", "--scenarios", str(tmp_path)])

    assert result.exit_code == 1
    assert "bad.json" in result.output.replace("\n", "")


def test_variants_are_counted_and_what_is_told_is_timed() -> None:
    result = CliRunner().invoke(app, ["benchmark", "--variants", "1", "--only", "hung_unseen"])

    assert result.exit_code == 0, result.output
    assert "hung_unseen: notified after" in result.stdout
    assert "1 of 1 right" in result.stdout


def test_variants_and_drawn_ones_are_printed_as_json_too() -> None:
    result = CliRunner().invoke(
        app, ["benchmark", "--variants", "1", "--drawn", "1", "--only", "hung_unseen", "--json"]
    )

    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert len({one["name"] for one in found["scenarios"]}) == 2
    assert found["totals"]["headroom"]["right"] == 2
