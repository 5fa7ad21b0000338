"""One poll, and checks, as JSON."""

from __future__ import annotations

import json

import polars as pl
import pytest

from collectors.report.document import PollReport, as_object, checks_as_object, exit_code, in_order
from collectors.source.model import Status
from lake.schemas.current import GROUP_STATUS
from tests.unit.collectors.report.reports import (
    CHECKS,
    CONNECT,
    FULL,
    METRICS,
    NOW,
    RABBIT,
    frame,
    partition,
    section,
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


def test_checks_as_json() -> None:
    assert checks_as_object(CHECKS)["checks"][1] == {
        "cluster": "shop",
        "source": "kafka",
        "feature": "headers",
        "works": False,
        "required": False,
        "detail": "needs READ on the topic [x]",
        "grants": [],
    }
