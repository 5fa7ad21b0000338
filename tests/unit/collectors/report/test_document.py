from __future__ import annotations

import io
import json
from datetime import UTC, datetime

import polars as pl
import pytest
from rich.console import Console

from collectors.report.document import (
    PollReport,
    SourceCheck,
    as_object,
    checks_as_object,
    exit_code,
    in_order,
)
from collectors.report.tables import print_checks, print_report
from collectors.source.model import Check, SectionResult, Status
from lake.schemas.current import GROUP_STATUS
from lake.schemas.tables import TABLES

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def frame(table: str, *rows: dict[str, object]) -> pl.DataFrame:
    schema = {
        name: type_
        for name, type_ in TABLES[table].polars_schema.items()
        if name not in ("cluster", "observed_at", "poll_id", "date")
    }
    return pl.DataFrame(list(rows), schema=schema)


def section(name: str, status: Status = "ok", **frames: pl.DataFrame) -> SectionResult:
    error = None if status == "ok" else f"{name} went wrong"
    return SectionResult(
        section=name,
        started_at=NOW,
        duration_seconds=0.25,
        status=status,
        error=error,
        frames=frames,
    )


def partition(number: int, leader: int | None, in_sync: list[int], least: int | None = 2) -> dict:  # type: ignore[type-arg]
    return {
        "topic": "orders",
        "partition": number,
        "leader": leader,
        "replicas": [1, 2, 3],
        "in_sync_replicas": in_sync,
        "min_in_sync_replicas": least,
    }


def offsets(number: int, **values: object) -> dict[str, object]:
    return {"group": "billing", "topic": "orders", "partition": number, **values}


FULL = PollReport(
    cluster="shop",
    cluster_id="id-1",
    controller=2,
    results=[
        section(
            "groups",
            groups=frame(
                "groups",
                {"group": "billing", "state": "stable", "type": "classic", "members": 2},
                {"group": "lost", "state": "unknown", "unknown_reason": "broker 3 is silent"},
            ),
            group_members=frame("group_members"),
        ),
        section(
            "group_offsets",
            group_offsets=frame(
                "group_offsets",
                offsets(0, committed=4, log_end=10, lag=6, time_lag_seconds=1.5, lost_messages=0),
                offsets(1, unknown_reason="nothing was ever committed"),
            ),
        ),
        section(
            "partitions",
            "partial",
            partitions=frame(
                "partitions",
                partition(0, 1, [1, 2, 3]),
                partition(1, 1, [1]),
                partition(2, None, []),
            ),
        ),
        section(
            "brokers",
            brokers=frame("brokers", {"broker_id": 1, "is_alive": True, "is_controller": False}),
        ),
        section(
            "dead_letters",
            dead_letters=frame(
                "dead_letters",
                {
                    "source": "kafka",
                    "name": "orders.dlq",
                    "retained": 7,
                    "reasons": [{"key": "java.lang.E", "value": 5}],
                    "oldest_retained_at": NOW,
                },
            ),
        ),
    ],
)


def test_the_object_of_once_json() -> None:
    found = FULL.as_object()
    assert (found["cluster_id"], found["controller"]) == ("id-1", 2)
    assert (found["topics"], found["partitions"]) == (1, 3)
    assert (found["under_replicated"], found["under_min_isr"], found["offline"]) == (2, 2, 1)
    billing, lost = found["groups"]
    assert (billing["group"], billing["members"], len(billing["partitions"])) == ("billing", 2, 2)
    assert billing["partitions"][0]["lag"] == 6
    assert billing["partitions"][1]["lag"] is None
    assert billing["partitions"][1]["unknown_reason"] == "nothing was ever committed"
    assert set(billing["partitions"][0]) == {
        "topic",
        "partition",
        "committed",
        "log_start",
        "log_end",
        "lag",
        "time_lag_seconds",
        "lost_messages",
        "member_id",
        "client_id",
        "host",
        "unknown_reason",
    }
    assert (lost["members"], lost["partitions"]) == (None, [])
    assert found["dead_letters"][0]["reasons"] == {"java.lang.E": 5}
    assert found["collections"][2] == {
        "section": "partitions",
        "status": "partial",
        "duration_seconds": 0.25,
        "error": "partitions went wrong",
    }
    json.dumps(found, default=str)


def test_what_failed_is_null_and_not_zero() -> None:
    failed = PollReport(
        cluster="shop", results=[section(name, "failed") for name in ("partitions",)]
    )
    found = failed.as_object()
    for name in ("topics", "partitions", "under_replicated", "under_min_isr", "offline"):
        assert found[name] is None


def test_under_min_isr_is_unknown_where_the_configuration_is() -> None:
    unknown = frame("partitions", partition(0, 1, [1, 2, 3], least=None))
    report = PollReport(
        cluster="shop", results=[section("partitions", "partial", partitions=unknown)]
    )
    assert report.as_object()["under_min_isr"] is None


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        pytest.param([["ok", "ok"]], 0, id="all"),
        pytest.param([["ok", "partial"]], 3, id="some of a section"),
        pytest.param([["ok", "failed"]], 3, id="some sections"),
        pytest.param([["failed", "failed"]], 1, id="nothing"),
        pytest.param([["ok", "ok"], ["failed", "failed"]], 3, id="one of two clusters"),
        pytest.param([["failed"], ["failed"]], 1, id="no cluster"),
    ],
)
def test_exit_code(statuses: list[list[Status]], code: int) -> None:
    reports = [
        PollReport(cluster="shop", results=[section("groups", status) for status in each])
        for each in statuses
    ]
    assert exit_code(reports) == code


CONNECT = PollReport(
    cluster="shop",
    results=[
        section(
            "connectors",
            "partial",
            connectors=frame(
                "connectors",
                {
                    "connect": "main",
                    "connector": "orders-sink",
                    "type": "sink",
                    "state": "RUNNING",
                    "tasks": 2,
                    "tasks_running": 1,
                    "tasks_failed": 1,
                    "dead_letter_topic": "orders.dlq",
                },
                {"connect": "main", "connector": "silent", "unknown_reason": "no answer in 5 s"},
            ),
        )
    ],
    source="connect/main",
)
RABBIT = PollReport(
    cluster="rabbit",
    results=[
        section(
            "queues",
            queues=frame(
                "queues",
                {
                    "vhost": "/",
                    "queue": "mail",
                    "kind": "plain",
                    "ready": 12,
                    "unacknowledged": 3,
                    "consumers": 1,
                    "dead_letter_queues": ["mail.dlq"],
                },
                {
                    "vhost": "/",
                    "queue": "sms",
                    "kind": "plain",
                    "ready": 5,
                    "dead_letter_target_missing": True,
                },
            ),
            dead_letters=frame(
                "dead_letters",
                {
                    "source": "rabbitmq",
                    "name": "mail.dlq",
                    "retained": 4,
                    "reasons": [{"key": "rejected", "value": 4}],
                },
            ),
        )
    ],
    source="rabbitmq/rabbit",
)
METRICS = PollReport(
    cluster="shop",
    results=[
        section(
            "broker_metrics",
            broker_metrics=frame(
                "broker_metrics",
                {
                    "prometheus": "m",
                    "metric": "bytes_in_per_second",
                    "broker": "kafka-1:9404",
                    "labels": [{"key": "topic", "value": "orders"}],
                    "value": float("nan"),
                },
                {
                    "prometheus": "m",
                    "metric": "bytes_in_per_second",
                    "broker": "kafka-2:9404",
                    "value": 2.5,
                },
                {"prometheus": "m", "metric": "idle_ratio", "unknown_reason": "no series"},
            ),
        )
    ],
    source="prometheus/m",
)


def test_once_json_has_clusters_as_ever_and_other_sources_by_name() -> None:
    found = as_object([CONNECT, METRICS, FULL])
    assert found["cluster"] == {"shop": FULL.as_object()}
    assert set(found["sources"]) == {"connect/main", "prometheus/m"}
    connect = found["sources"]["connect/main"]
    assert connect["cluster"] == "shop"
    assert [row["connector"] for row in connect["tables"]["connectors"]] == [
        "orders-sink",
        "silent",
    ]
    assert connect["tables"]["connectors"][1]["tasks"] is None
    assert connect["collections"] == [
        {
            "section": "connectors",
            "status": "partial",
            "duration_seconds": 0.25,
            "error": "connectors went wrong",
        }
    ]
    first, second, _ = found["sources"]["prometheus/m"]["tables"]["broker_metrics"]
    assert (first["labels"], first["value"]) == ({"topic": "orders"}, None)
    assert (second["labels"], second["value"]) == (None, 2.5)
    json.dumps(found, default=str, allow_nan=False)


def test_once_json_has_the_status_that_the_alerting_service_wrote() -> None:
    """Given statuses of one group of another cluster and one of this, then that one has it."""
    written = pl.DataFrame(
        [
            {"cluster": "other", "group": "lost", "status": "OK", "evaluated_at": NOW},
            {
                "cluster": "shop",
                "group": "billing",
                "status": "STALLED",
                "since": NOW,
                "reason": "nothing committed",
                "evaluated_at": NOW,
            },
        ],
        schema=GROUP_STATUS.polars_schema,
    )
    billing, lost = as_object([FULL], written)["cluster"]["shop"]["groups"]
    assert billing["status"] == {
        "status": "STALLED",
        "since": NOW,
        "reason": "nothing committed",
        "evaluated_at": NOW,
    }
    assert lost["status"] is None
    assert [group["status"] for group in FULL.as_object()["groups"]] == [None, None]


def test_a_row_has_every_column_whatever_its_section_fills() -> None:
    few = pl.DataFrame({"group": ["billing"], "state": ["stable"]})
    report = PollReport(cluster="shop", results=[section("groups", groups=few)])
    (group,) = report.as_object()["groups"]
    assert group["members"] is None
    assert "cluster" not in report.table("groups").columns


def test_sources_come_by_cluster_and_kafka_first() -> None:
    other = PollReport(cluster="other")
    reports = [RABBIT, METRICS, CONNECT, FULL, other]
    assert [(report.cluster, report.source) for report in in_order(reports)] == [
        ("shop", "kafka"),
        ("shop", "connect/main"),
        ("shop", "prometheus/m"),
        ("other", "kafka"),
        ("rabbit", "rabbitmq/rabbit"),
    ]


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


CHECKS = [
    SourceCheck(
        cluster="shop",
        source="kafka",
        check=Check(feature="connection", works=True, required=True, detail="fine"),
    ),
    SourceCheck(
        cluster="shop",
        source="kafka",
        check=Check(
            feature="headers", works=False, required=False, detail="needs READ on the topic [x]"
        ),
    ),
    SourceCheck(
        cluster="shop",
        source="connect/main",
        check=Check(feature="connectors", works=None, required=True, detail="no disks"),
    ),
]


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


def test_checks_as_json() -> None:
    assert checks_as_object(CHECKS)["checks"][1] == {
        "cluster": "shop",
        "source": "kafka",
        "feature": "headers",
        "works": False,
        "required": False,
        "detail": "needs READ on the topic [x]",
    }
