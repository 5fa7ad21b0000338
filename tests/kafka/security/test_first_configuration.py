"""``headroom init`` on a cluster with ACLs: the lines that it prints grant what is missing."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from runtime.jars import kafka_classpath
from runtime.java import Java
from tests.kafka.security.secured import PASSWORD, ROOT, Secured
from tests.support import eventually


def headroom(*arguments: str, password: str = PASSWORD) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "runtime", *arguments],
        cwd=ROOT,
        env={**os.environ, "KAFKA_PASSWORD": password, "COLUMNS": "250"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def init(secured: Secured, output: Path) -> list[str]:
    return [
        *("init", "--bootstrap-servers", secured.sasl, "--security", "SASL_PLAINTEXT"),
        *("--mechanism", "PLAIN", "--username", "reader", "--name", "shop"),
        *("--output", str(output)),
    ]


def grant(secured: Secured, java: Java, line: str) -> None:
    """Run a printed line with Kafka's own tool, as the administrator that needs no login."""
    script, *arguments = shlex.split(line)
    assert script == "kafka-acls.sh"
    assert arguments[:4] == [
        *("--bootstrap-server", secured.sasl),
        *("--command-config", "admin.properties"),
    ]
    command = [
        *(str(java.executable), "-cp", f"{kafka_classpath(java)}/*"),
        "org.apache.kafka.tools.AclCommand",
        *("--bootstrap-server", secured.cluster.bootstrap_servers),
        *arguments[4:],
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def printed(output: str) -> list[str]:
    return [line.strip() for line in output.splitlines() if "kafka-acls.sh" in line]


def test_the_printed_lines_grant_what_is_missing(
    secured: Secured, kafka_java: Java, tmp_path: Path
) -> None:
    output = tmp_path / "headroom.yaml"
    try:
        first = headroom(*init(secured, output))
        assert first.returncode == 0, first.stdout + first.stderr
        assert "connected: cluster" in first.stdout
        assert "does not work: topics: none is visible" in first.stdout
        assert PASSWORD not in output.read_text() + first.stdout
        assert printed(first.stdout)
        granted = set()

        def nothing_is_missing() -> bool:
            # A right may bring others to light: nothing is known of topics that are not seen.
            check = headroom("check", "--config", str(output))
            for line in set(printed(check.stdout)) - granted:
                grant(secured, kafka_java, line)
                granted.add(line)
            return check.returncode == 0 and not printed(check.stdout)

        eventually(nothing_is_missing, timeout_seconds=240, what="check that asks for no right")
        assert any(line.endswith(f"--topic {secured.dead}") for line in granted)
    finally:
        every = AclBindingFilter(
            ResourceType.ANY,
            None,
            ResourcePatternType.ANY,
            "User:reader",
            None,
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        for future in secured.cluster.admin().delete_acls([every]).values():
            future.result(20)


def test_a_wrong_password_is_one_line_and_writes_nothing(secured: Secured, tmp_path: Path) -> None:
    output = tmp_path / "headroom.yaml"
    answer = headroom(*init(secured, output), password="wrong")  # noqa: S106
    assert (answer.returncode, output.exists()) == (1, False)
    assert "nothing was written" in answer.stderr
