from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaling.__main__ import app

NOW = "now: {partitions: 12, arrival_per_second: 300, consumers: 4, capacity_per_second: 100"
NUMBERS = f"{NOW}, lag: 20000}}\nhours: 1\n"


def run(tmp_path: Path, inputs: str, *arguments: str) -> tuple[int, str, str]:
    path = tmp_path / "what-if.yaml"
    path.write_text(inputs)
    found = CliRunner().invoke(app, ["simulate", "--inputs", str(path), *arguments])
    return found.exit_code, found.stdout, found.stderr


def test_given_numbers_are_enough(tmp_path: Path) -> None:
    code, out, _ = run(tmp_path, NUMBERS + "change: {consumers: 6}")
    assert code == 0
    assert "as it is" in out
    assert "consumer-hours" in out


def test_json_has_both_runs_and_their_series(tmp_path: Path) -> None:
    code, out, _ = run(tmp_path, NUMBERS + "change: {consumers: 6}", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["now"]["consumers"], found["changed"]["consumers"]) == (4, 6)
    assert found["changed"]["drain_seconds"] < found["now"]["drain_seconds"]
    series = found["changed"]["series"]
    assert len(series["seconds"]) == len(series["lag"]) == len(series["time_lag_seconds"])
    assert series["lag"][0] == 20000


def test_the_documented_inputs_can_be_used(tmp_path: Path) -> None:
    text = Path("docs/simulation.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    code, out, _ = run(tmp_path, block, "--json")
    assert code == 0
    assert json.loads(out)["changed"]["partitions"] == 48


@pytest.mark.parametrize(
    ("inputs", "arguments", "code", "message"),
    [
        pytest.param("", (), 2, "now.partitions, now.arrival_per_second", id="nothing given"),
        pytest.param("", ("--group", "g"), 2, "--config", id="a group without a lake"),
        pytest.param(NUMBERS, ("--group", "g", "--config", "x"), 2, "only consumers", id="both"),
        pytest.param(NUMBERS + "change: {partitions: 4}", (), 1, "cannot shrink", id="impossible"),
        pytest.param(
            "", ("--group", "g", "--config", "missing.yaml"), 2, "missing.yaml", id="no such file"
        ),
        pytest.param(
            NUMBERS + "change: {consumer: 4}", (), 2, "change.consumer: unknown key", id="unknown"
        ),
        pytest.param(NUMBERS + "change: {campaign: {factor: .nan}}", (), 2, "finite", id="nan"),
        pytest.param("[]", (), 2, "what-if.yaml", id="no mapping"),
    ],
)
def test_a_failure_is_one_line(
    tmp_path: Path, inputs: str, arguments: tuple[str, ...], code: int, message: str
) -> None:
    found, out, err = run(tmp_path, inputs, *arguments)
    assert found == code
    assert message in err
    assert not out
    assert len(err.strip().splitlines()) == 1


def test_a_group_that_is_not_there_is_said(tmp_path: Path) -> None:
    path = tmp_path / "headroom.yaml"
    path.write_text(
        "clusters:\n  - name: demo\n    bootstrap_servers: localhost:9092\nlake:\n  uri: lake\n"
    )
    code, _, err = run(tmp_path, "", "--config", str(path), "--group", "orders")
    assert code == 1
    assert "no group orders" in err
