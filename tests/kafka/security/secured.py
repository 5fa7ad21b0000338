"""A cluster with TLS, SASL and ACLs: its addresses, rights to give, and how one logs in."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from pydantic import SecretStr

from demo.kafka.cluster import KafkaCluster

ROOT = Path(__file__).parents[3]
PASSWORD = "pass-phrase-of-the-reader"  # noqa: S105 (a test's)
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass
class Secured:
    """The cluster with the addresses of its other listeners."""

    cluster: KafkaCluster
    folder: Path
    tls: str
    mutual: str
    sasl: str
    sasl_tls: str
    expired: str
    topic: str
    group: str
    dead: str


def binding(kind: ResourceType, name: str, operation: AclOperation) -> AclBinding:
    return AclBinding(
        kind,
        name,
        ResourcePatternType.LITERAL,
        "User:reader",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )


TOPICS = binding(ResourceType.TOPIC, "*", AclOperation.DESCRIBE)
GROUPS = binding(ResourceType.GROUP, "*", AclOperation.DESCRIBE)
CONFIGS = binding(ResourceType.TOPIC, "*", AclOperation.DESCRIBE_CONFIGS)
GROUP_CONFIGS = binding(ResourceType.GROUP, "*", AclOperation.DESCRIBE_CONFIGS)
CLUSTER = binding(ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE)
CLUSTER_CONFIGS = binding(ResourceType.BROKER, "kafka-cluster", AclOperation.DESCRIBE_CONFIGS)
RECORDS = binding(ResourceType.TOPIC, "*", AclOperation.READ)
ALL = (TOPICS, GROUPS, CONFIGS, GROUP_CONFIGS, CLUSTER, CLUSTER_CONFIGS, RECORDS)


def sasl(mechanism: str, password: str = PASSWORD) -> dict[str, str]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "reader",
        "sasl.password": password,
    }


def run(
    secured: Secured,
    command: list[str],
    servers: str,
    properties: Mapping[str, str],
    password: str = PASSWORD,
) -> subprocess.CompletedProcess[str]:
    lines = [
        "clusters:",
        "  - name: shop",
        f"    bootstrap_servers: {servers}",
        "    poll_interval_seconds: 5",
        "    properties:",
        "      log_level: '3'",
    ]
    for key, value in properties.items():
        text = "{env: READER_PASSWORD}" if key == "sasl.password" else f"'{value}'"
        lines.append(f"      {key}: {text}")
    config = secured.folder / "headroom.yaml"
    config.write_text("\n".join(lines) + "\n")
    return subprocess.run(
        [sys.executable, "-m", "collectors", *command, "--config", str(config)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"READER_PASSWORD": password, "PATH": "/usr/bin:/bin", "COLUMNS": "250"},
    )


def as_secret(properties: dict[str, str]) -> dict[str, Any]:
    return {
        key: SecretStr(value) if key == "sasl.password" else value
        for key, value in properties.items()
    }


def ok(poll: Any) -> Any:
    return poll if not poll.errors else None
