"""How an administrator grants what is missing."""

from __future__ import annotations

import shlex

import pytest

from collectors.kafka.rights import (
    DESCRIBE_CLUSTER,
    DESCRIBE_TOPICS,
    EVERY_RIGHT,
    kafka_acls,
    names_a_right,
    read_of,
)
from config.settings import ClusterSettings


def cluster(**properties: str) -> ClusterSettings:
    return ClusterSettings(name="a", bootstrap_servers="kafka-1:9092", properties=properties)


def test_a_right_is_one_line() -> None:
    assert kafka_acls(cluster(), DESCRIBE_TOPICS) == (
        "kafka-acls.sh --bootstrap-server kafka-1:9092 --add --allow-principal User:headroom "
        "--operation Describe --topic '*'"
    )
    assert kafka_acls(cluster(), DESCRIBE_CLUSTER).endswith("--operation Describe --cluster")


def test_where_brokers_want_a_login_the_administrator_has_one_and_ours_is_named() -> None:
    line = kafka_acls(
        cluster(**{"security.protocol": "sasl_ssl", "sasl.username": "the reader"}), DESCRIBE_TOPICS
    )
    assert "--command-config admin.properties" in line
    assert "User:the reader" in shlex.split(line)


def test_a_hostile_name_stays_one_word_of_the_shell() -> None:
    name = "orders'; rm -rf $HOME #\n"
    assert shlex.split(kafka_acls(cluster(), read_of(name)))[-1] == name


@pytest.mark.parametrize("right", EVERY_RIGHT, ids=str)
def test_every_right_can_be_granted(right: object) -> None:
    assert kafka_acls(cluster(), right)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("detail", "named"),
    [
        ("not permitted: needs DESCRIBE_CONFIGS on the topic", True),
        (
            "0 groups, 0 committed offsets; if there are groups, DESCRIBE on the groups is missing",
            True,
        ),
        ("12 topics", False),
        ("cluster ALREADY_DESCRIBED, 3 brokers", False),
    ],
)
def test_a_text_that_names_a_right_asks_for_it(detail: str, named: bool) -> None:
    assert names_a_right(detail) is named
