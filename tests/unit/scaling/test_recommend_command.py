from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from config.load import load
from lake.storage.store import Lake
from scaling.__main__ import app
from tests.late_group import write_late_group


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "headroom.yaml"
    path.write_text(
        "clusters:\n  - name: demo\n    bootstrap_servers: localhost:9092\nlake:\n  uri: lake\n"
    )
    return path


def fill(config: Path, *, ago: timedelta = timedelta()) -> None:
    write_late_group(Lake(load(config).lake), datetime.now(UTC) - ago)


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["recommend", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_json_holds_every_piece_of_advice(config: Path) -> None:
    fill(config)

    code, out, _ = run("--config", str(config), "--json")

    assert code == 0
    found = {(one["subject"], one["kind"]): one for one in json.loads(out)["recommendations"]}
    assert set(found) == {("late", "add_consumers"), ("orders", "durability")}
    assert found["late", "add_consumers"]["proposed"] is None
    assert found["late", "add_consumers"]["unknown_reason"]
    assert found["orders", "durability"]["proposed"] == 3


def test_objective_is_that_of_the_first_pattern_that_matches(config: Path) -> None:
    fill(config)
    with config.open("a") as file:
        file.write(
            "scaling:\n  objectives:\n    - {groups: 'lat', time_lag_seconds: 3600}\n"
            "    - {groups: 'la.*', time_lag_seconds: 7}\n"
            "    - {groups: 'late', time_lag_seconds: 7200}\n"
        )

    _, out, _ = run("--config", str(config), "--json", "--group", "late")

    [one] = json.loads(out)["recommendations"]
    assert "objective of 7 s remains missed" in one["consequence"]


def test_table_says_unknown_where_no_number_can_be_told(config: Path) -> None:
    fill(config)

    code, out, _ = run("--config", str(config))

    assert code == 0
    assert "late" in out and "orders" in out and "unknown" in out


def test_one_group_is_shown_with_its_evidence(config: Path) -> None:
    fill(config)

    code, out, _ = run("--config", str(config), "--group", "late")

    assert code == 0
    assert "arrival: 400 messages/s" in out
    assert "orders" not in out.split("\n")[0]
    assert "consumers: now 1, proposed unknown" in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(("--group", "nobody"), 1, "no group nobody", id="no such group"),
        pytest.param(("--cluster", "other"), 2, "no cluster other", id="no such cluster"),
    ],
)
def test_wrong_names_give_one_clear_line(
    config: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    fill(config)

    result, out, err = run("--config", str(config), *arguments)

    assert result == code
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_a_cluster_without_samples_is_not_passed_over_in_silence(config: Path) -> None:
    fill(config)
    text = config.read_text()
    config.write_text(
        text.replace("lake:", "  - name: other\n    bootstrap_servers: localhost:9093\nlake:")
    )

    code, out, err = run("--config", str(config), "--json")

    assert code == 0
    assert json.loads(out)["recommendations"]
    assert "other: no sample" in err


def test_an_empty_lake_says_who_fills_it(config: Path) -> None:
    code, _, err = run("--config", str(config))

    assert code == 1
    assert "python -m collectors run" in err


def test_old_samples_are_no_basis(config: Path) -> None:
    fill(config, ago=timedelta(hours=2))

    assert run("--config", str(config))[0] == 1


def test_a_wrong_configuration_is_told_in_one_line(tmp_path: Path) -> None:
    code, _, err = run("--config", str(tmp_path / "missing.yaml"))

    assert code == 2
    assert "missing.yaml" in err
