"""``headroom init``: the file that follows from answers, and what is said of a trial."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from config.load import load
from runtime import __main__ as command
from runtime import bootstrap
from runtime.first_config import Answers, Mechanism, Security, Trial, read_trial


def check(
    feature: str, works: bool | None, *grants: str, required: bool = False
) -> dict[str, object]:
    return {
        "feature": feature,
        "works": works,
        "required": required,
        "detail": f"detail of {feature}",
        "grants": list(grants),
    }


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param(
            Answers(name="one", bootstrap_servers="a:9092,b:9092"),
            {},
            id="no security",
        ),
        pytest.param(
            Answers(
                name="one",
                bootstrap_servers="a:9092",
                security=Security.SSL,
                ca_file=Path("/etc/ca.pem"),
            ),
            {"security.protocol": "SSL", "ssl.ca.location": "/etc/ca.pem"},
            id="TLS",
        ),
        pytest.param(
            Answers(
                name="one",
                bootstrap_servers="a:9092",
                security=Security.SASL_SSL,
                mechanism=Mechanism.SCRAM_SHA_256,
                username="a: 'user' #1",
            ),
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.username": "a: 'user' #1",
                "sasl.password": "from the environment",
            },
            id="login",
        ),
    ],
)
def test_the_file_is_read_as_it_was_meant(
    answers: Answers, expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "from the environment")
    file = tmp_path / "headroom.yaml"
    file.write_text(answers.as_yaml(), encoding="utf-8")
    (cluster,) = load(file).clusters
    assert (cluster.name, cluster.bootstrap_servers) == ("one", answers.bootstrap_servers)
    plain = cluster.librdkafka()
    assert {key: plain[key] for key in cluster.properties} == expected
    assert "from the environment" not in file.read_text(encoding="utf-8")


def test_a_trial_says_what_fails_and_each_grant_once() -> None:
    trial = read_trial(
        [
            check("connection", True, required=True),
            check("topics", False, "grant topics", required=True),
            check("offsets", True),
            check("groups", True, "grant groups"),
            check("configs", False, "grant topics"),
            check("share groups", None),
        ]
    )
    assert trial == Trial(
        connected=True,
        summary="detail of connection",
        wrong=("topics: detail of topics", "configs (optional): detail of configs"),
        grants=("grant topics", "grant groups"),
    )


def test_what_is_not_given_is_asked_for_and_the_password_is_written_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[tuple[str, str]] = []

    def trial(text: str, environment: dict[str, str]) -> Trial:
        tried.append((text, environment["KAFKA_PASSWORD"]))
        return Trial(connected=True, summary="3 brokers", wrong=(), grants=("kafka-acls.sh x",))

    monkeypatch.setattr(command, "try_it", trial)
    monkeypatch.delenv("KAFKA_PASSWORD", raising=False)
    output = tmp_path / "headroom.yaml"
    said = "kafka-1:9092\nSASL_SSL\nshop\nSCRAM-SHA-256\nreader\nvery-secret\n"
    answer = CliRunner().invoke(command.cli, ["init", "--output", str(output)], input=said)
    assert answer.exit_code == 0, answer.output
    assert "connected: 3 brokers" in answer.output
    assert "  kafka-acls.sh x\n" in answer.output
    ((text, password),) = tried
    assert password == "very-secret"  # noqa: S105
    assert output.read_text() == text
    assert "very-secret" not in text + answer.output


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    output = tmp_path / "headroom.yaml"
    output.write_text("mine")
    arguments = ["init", "--bootstrap-servers", "a:1", "--security", "SSL", "--name", "a"]
    answer = CliRunner().invoke(command.cli, [*arguments, "--output", str(output)])
    assert answer.exit_code == 2
    assert "--force" in answer.output
    assert output.read_text() == "mine"


@pytest.mark.parametrize(
    ("servers", "exit_status", "message"),
    [
        pytest.param("127.0.0.1:9", 1, "Connection refused; nothing was written", id="refused"),
        pytest.param("no-port", 2, "each server must read host:port", id="no port"),
    ],
)
def test_nothing_is_written_of_a_cluster_that_does_not_answer(
    servers: str, exit_status: int, message: str, tmp_path: Path
) -> None:
    output = tmp_path / "headroom.yaml"
    arguments = ["init", "--bootstrap-servers", servers, "--security", "plaintext", "--name", "a"]
    answer = CliRunner().invoke(command.cli, [*arguments, "--output", str(output)])
    assert (answer.exit_code, output.exists()) == (exit_status, False)
    assert message in answer.output


def test_the_set_up_makes_the_command(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    bootstrap.add_command(tmp_path)
    answer = subprocess.run(
        [tmp_path / "bin" / "headroom", "--help"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(sys.prefix) / "lib/python3.11/site-packages")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    assert "Usage: headroom" in answer.stdout
    for name in ("init", "run", "check", "status"):
        assert name in answer.stdout
