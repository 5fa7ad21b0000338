"""One poll, and checks, as tables."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from collectors.report.document import PollReport, SourceCheck
from collectors.report.tables import print_checks, print_report
from collectors.source.model import Check
from tests.unit.collectors.report.reports import (
    CHECKS,
    CONNECT,
    FULL,
    METRICS,
    RABBIT,
    frame,
    section,
)


def printed(show: object, *arguments: object, width: int = 200) -> str:
    text = io.StringIO()
    show(Console(file=text, width=width), *arguments)  # type: ignore[operator]
    return text.getvalue()


@pytest.mark.parametrize(
    ("report", "begin", "words"),
    [
        pytest.param(CONNECT, "orders-sink", ["RUNNING", "1 of 2", "orders.dlq"], id="connector"),
        pytest.param(CONNECT, "silent", ["unknown", "no answer in 5 s"], id="unknown connector"),
        pytest.param(RABBIT, "mail ", ["plain", "12", "3", "mail.dlq"], id="queue"),
        pytest.param(RABBIT, "sms", ["unknown", "their target is missing"], id="missing target"),
        pytest.param(RABBIT, "mail.dlq", ["4", "rejected 4"], id="dead letters of a queue"),
        pytest.param(METRICS, "bytes_in_per_second", ["2"], id="broker metrics"),
        pytest.param(METRICS, "idle_ratio", ["unknown", "no series"], id="an unknown metric"),
    ],
)
def test_other_sources_as_tables(report: PollReport, begin: str, words: list[str]) -> None:
    text = printed(print_report, report)
    assert text.splitlines()[0] == f"{report.cluster}, {report.source}"
    (line,) = [line for line in text.splitlines() if line.startswith(begin)]
    for word in words:
        assert word in line


def test_the_table_says_unknown_where_something_is() -> None:
    text = printed(print_report, FULL)
    line = next(line for line in text.splitlines() if line.startswith("billing"))
    assert "6+ unknown" in line
    line = next(line for line in text.splitlines() if line.startswith("lost"))
    assert line.split()[1] == "unknown"
    assert "1 without a leader" in text
    assert "partitions went wrong" in text
    assert "java.lang.E 5" in text


def test_names_are_not_taken_for_markup() -> None:
    odd = frame("groups", {"group": "[red]odd[/red]", "state": "empty", "members": 0})
    text = printed(
        print_report, PollReport(cluster="shop", results=[section("groups", groups=odd)])
    )
    assert "[red]odd[/red]" in text


def test_checks_are_printed_in_words() -> None:
    assert printed(print_checks, CHECKS).splitlines() == [
        "shop, kafka",
        "  works      connection",
        "             fine",
        "  fails      headers (optional)",
        "             needs READ on the topic [x]",
        "shop, connect/main",
        "  not tried  connectors",
        "             no disks",
    ]


@pytest.mark.parametrize("width", [20, 40, 80, 100, 200])
def test_no_letter_of_a_check_is_lost_at_any_width(width: int) -> None:
    long = Check(
        feature="topic configuration (retention, min.insync.replicas)",
        works=False,
        required=False,
        detail="not permitted: needs DESCRIBE_CONFIGS on the topics orders, payments and "
        f"https://kafka-{'x' * 90}.example.com:9092/",
    )
    check = SourceCheck(
        cluster="a-cluster-with-a-long-name", source="prometheus/monitoring", check=long
    )
    text = printed(print_checks, [check], width=width)
    assert " ".join(text.split()) == (
        f"a-cluster-with-a-long-name, prometheus/monitoring fails {long.feature} (optional) "
        f"{long.detail}"
    )
    wide = [line for line in text.splitlines() if len(line) > max(width, 80)]
    assert all(".example.com" in line for line in wide), "only what cannot be parted is wider"


def test_what_a_terminal_would_obey_is_not_printed() -> None:
    check = Check(
        feature="queues",
        works=False,
        required=True,
        detail="virtual host \x1b]0;owned\x07 \x9b31m is not permitted",
    )
    text = printed(print_checks, [SourceCheck(cluster="shop", source="rabbitmq/main", check=check)])
    assert not {"\x1b", "\x07", "\x9b"} & set(text)
