from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scaling.__main__ import app

NUMBERS = (
    "--now-partitions", "12", "--now-arrival", "300", "--now-consumers", "4",
    "--now-capacity", "100", "--now-lag", "20000", "--hours", "1",
)  # fmt: skip


def _run(*arguments: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(app, ["simulate", *arguments])
    return found.exit_code, found.stdout, found.stderr


def test_given_numbers_are_enough() -> None:
    code, out, _ = _run(*NUMBERS, "--consumers", "6")
    assert code == 0
    assert "as it is" in out
    assert "consumer-hours" in out


def test_json_has_both_runs_and_their_series() -> None:
    code, out, _ = _run(*NUMBERS, "--consumers", "6", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["now"]["consumers"], found["changed"]["consumers"]) == (4, 6)
    assert found["changed"]["drain_seconds"] < found["now"]["drain_seconds"]
    series = found["changed"]["series"]
    assert len(series["seconds"]) == len(series["lag"]) == len(series["time_lag_seconds"])
    assert series["lag"][0] == 20000


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param((), 2, "--now-partitions, --now-arrival", id="nothing given"),
        pytest.param(("--group", "g"), 2, "--config", id="a group without a lake"),
        pytest.param((*NUMBERS, "--partitions", "4"), 1, "cannot shrink", id="impossible"),
        pytest.param(
            ("--group", "g", "--config", "missing.yaml"), 2, "missing.yaml", id="no such file"
        ),
    ],
)
def test_a_failure_is_one_line(arguments: tuple[str, ...], code: int, message: str) -> None:
    found, out, err = _run(*arguments)
    assert found == code
    assert message in err
    assert not out
    assert len(err.strip().splitlines()) == 1


def test_a_group_that_is_not_there_is_said(tmp_path: Path) -> None:
    path = tmp_path / "headroom.yaml"
    path.write_text(
        "clusters:\n  - name: demo\n    bootstrap_servers: localhost:9092\nlake:\n  uri: lake\n"
    )
    code, _, err = _run("--config", str(path), "--group", "orders")
    assert code == 1
    assert "no group orders" in err
