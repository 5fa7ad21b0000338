"""Rights on a Kafka cluster: which there are, and how an administrator grants them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from config.settings import ClusterSettings

_OPERATION = re.compile(r"\b(DESCRIBE|DESCRIBE_CONFIGS|READ)\b")
_OPTIONS = {"topic": "--topic", "group": "--group", "transactionalId": "--transactional-id"}
_PRINCIPAL = "headroom"


@dataclass(frozen=True, slots=True)
class Right:
    """An operation that an ACL allows.

    Attributes:
        operation: As ``kafka-acls`` and Strimzi write it: Describe, DescribeConfigs, Read.
        resource: topic, group, cluster or transactionalId.
        name: Of the resource; ``*`` is all of them.
    """

    operation: str
    resource: str
    name: str


DESCRIBE_TOPICS = Right("Describe", "topic", "*")
CONFIGS_OF_TOPICS = Right("DescribeConfigs", "topic", "*")
DESCRIBE_GROUPS = Right("Describe", "group", "*")
CONFIGS_OF_GROUPS = Right("DescribeConfigs", "group", "*")
DESCRIBE_CLUSTER = Right("Describe", "cluster", "")
CONFIGS_OF_CLUSTER = Right("DescribeConfigs", "cluster", "")
DESCRIBE_TRANSACTIONS = Right("Describe", "transactionalId", "*")
COMMIT_RECORDS = Right("Read", "topic", "__consumer_offsets")

EVERY_RIGHT = (
    DESCRIBE_TOPICS,
    CONFIGS_OF_TOPICS,
    DESCRIBE_GROUPS,
    CONFIGS_OF_GROUPS,
    DESCRIBE_CLUSTER,
    CONFIGS_OF_CLUSTER,
    DESCRIBE_TRANSACTIONS,
    COMMIT_RECORDS,
)
"""All that Headroom makes use of, but for READ on each dead-letter topic."""


def read_of(topic: str) -> Right:
    """Return the right to read the records of a topic."""
    return Right("Read", "topic", topic)


def names_a_right(detail: str) -> bool:
    """Return whether a text names a right: it does where one is missing, or may be."""
    return _OPERATION.search(detail) is not None


def kafka_acls(cluster: ClusterSettings, right: Right) -> str:
    """Return the command that grants a right to the user that a cluster's settings name.

    Returns:
        A line for an administrator's shell. Where brokers want a login, ``admin.properties`` stands
        for the administrator's own.
    """
    properties = cluster.properties
    command = ["kafka-acls.sh", "--bootstrap-server", cluster.bootstrap_servers]
    if str(properties.get("security.protocol", "plaintext")).lower() != "plaintext":
        command += ["--command-config", "admin.properties"]
    user = properties.get("sasl.username", "headroom")
    command += ["--add", "--allow-principal", f"User:{user}", "--operation", right.operation]
    where = ["--cluster"] if right.resource == "cluster" else [_OPTIONS[right.resource], right.name]
    return shlex.join([*command, *where])
