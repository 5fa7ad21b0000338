"""A first configuration: what is asked of a new user, and the file that follows from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from runtime.errors import RuntimeSetupError
from runtime.services import ROOT

PASSWORD_VARIABLE = "KAFKA_PASSWORD"  # noqa: S105 (the name of a variable)
_CHECK_SECONDS = 120


class Security(StrEnum):
    """How brokers are spoken to."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_SSL = "SASL_SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"

    @property
    def is_encrypted(self) -> bool:
        """Whether brokers show a certificate."""
        return self in (Security.SSL, Security.SASL_SSL)

    @property
    def has_login(self) -> bool:
        """Whether brokers want a user name and a password."""
        return self in (Security.SASL_SSL, Security.SASL_PLAINTEXT)


class Mechanism(StrEnum):
    """How a user name and a password are sent."""

    SCRAM_SHA_512 = "SCRAM-SHA-512"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    PLAIN = "PLAIN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a new user says of a cluster. The password is not among it: no file holds it."""

    name: str
    bootstrap_servers: str
    security: Security = Security.PLAINTEXT
    mechanism: Mechanism = Mechanism.SCRAM_SHA_512
    username: str | None = None
    ca_file: Path | None = None

    def properties(self) -> dict[str, Any]:
        """Return the properties of librdkafka that follow."""
        found: dict[str, Any] = {}
        if self.security is not Security.PLAINTEXT:
            found["security.protocol"] = str(self.security)
        if self.security.is_encrypted and self.ca_file is not None:
            found["ssl.ca.location"] = str(self.ca_file.expanduser().absolute())
        if self.security.has_login:
            found["sasl.mechanism"] = str(self.mechanism)
            found["sasl.username"] = self.username
            found["sasl.password"] = {"env": PASSWORD_VARIABLE}
        return found

    def as_yaml(self) -> str:
        """Return the configuration file."""
        cluster: dict[str, Any] = {
            "name": self.name,
            "bootstrap_servers": self.bootstrap_servers,
        }
        if properties := self.properties():
            cluster["properties"] = properties
        content = {"clusters": [cluster], "lake": {"uri": "headroom-data/lake"}}
        return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What was found when a configuration was tried.

    Attributes:
        connected: Whether the cluster answered.
        summary: What is known of the connection.
        wrong: What does not work, a line each.
        grants: Commands that grant the rights that are missing, a line each.
    """

    connected: bool
    summary: str
    wrong: tuple[str, ...]
    grants: tuple[str, ...]


def try_it(text: str, environment: Mapping[str, str]) -> Trial:
    """Check a configuration as ``collectors check`` does.

    Args:
        text: The configuration file.
        environment: Variables that it refers to.

    Raises:
        RuntimeSetupError: It is wrong, or the check failed.
    """
    with tempfile.TemporaryDirectory(prefix="headroom-") as folder:
        file = Path(folder) / "headroom.yaml"
        file.write_text(text, encoding="utf-8")
        try:
            answer = subprocess.run(  # noqa: S603 (this program, on a file that was just written)
                [sys.executable, "-m", "collectors", "check", "--json", "--config", str(file)],
                env={**os.environ, **environment, "PYTHONPATH": str(ROOT)},
                capture_output=True,
                text=True,
                timeout=_CHECK_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RuntimeSetupError(f"no answer within {_CHECK_SECONDS} s") from None
    if answer.returncode not in (0, 1):
        raise RuntimeSetupError(answer.stderr.strip().replace(f"{file}: ", ""))
    try:
        return read_trial(json.loads(answer.stdout)["checks"])
    except (ValueError, KeyError):
        raise RuntimeSetupError(f"the check failed: {answer.stderr.strip()[-500:]}") from None


def read_trial(checks: list[dict[str, Any]]) -> Trial:
    """Return what the objects of ``collectors check --json`` say."""
    connection = next(check for check in checks if check["feature"] == "connection")
    return Trial(
        connected=bool(connection["works"]),
        summary=str(connection["detail"]),
        wrong=tuple(
            f"{check['feature']}{'' if check['required'] else ' (optional)'}: {check['detail']}"
            for check in checks
            if check["works"] is False and check is not connection
        ),
        grants=tuple(dict.fromkeys(line for check in checks for line in check["grants"])),
    )
