"""Connect's answers become values, whatever is in them."""

from __future__ import annotations

from typing import Any

import pytest

from collectors.connect.answers import (
    NO_CONFIGURATION,
    NO_STATUS,
    Connector,
    Position,
    Task,
    connector_kind,
    read_connectors,
    read_names,
    read_positions,
)
from collectors.errors import ProtocolError
from collectors.source.answer import Odd
from tests.unit.collectors.connect.fakeconnect import MIRROR_SOURCE, entry

TRACE = (
    "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler\n"
    "\tat org.apache.kafka.connect.runtime.errors.Operator.execute(Operator.java:259)\n"
    "Caused by: org.apache.kafka.connect.errors.DataException: Converting byte[] failed\n"
    "\tat org.apache.kafka.connect.json.JsonConverter.toConnectData(JsonConverter.java:333)\n"
    "\t... 18 more\n"
    "Caused by: com.fasterxml.jackson.core.JsonParseException: Unrecognized token 'anna'\n"
    "\t... 20 more\n"
)


def read(**config: Any) -> Connector:
    (found,) = read_connectors({"orders-sink": entry("orders-sink", **config)}, Odd())
    return found


def test_a_sink_with_everything() -> None:
    found = read(
        topics="orders, refunds",
        tasks__max="3",
        tasks={0: "RUNNING", 1: "FAILED", 2: "RUNNING"},
        traces={1: TRACE},
        errors__tolerance="ALL",
        errors__deadletterqueue__topic__name="orders.dlq",
        errors__deadletterqueue__context__headers__enable="true",
    )
    assert (found.type, found.kind, found.state) == ("sink", "plain", "RUNNING")
    assert (found.tasks_expected, found.count("RUNNING"), found.count("FAILED")) == (3, 2, 1)
    assert found.topics == ["orders", "refunds"]
    assert found.group == "connect-orders-sink"
    assert (found.dead_letter_topic, found.dead_letter_headers) == ("orders.dlq", True)
    assert found.errors_tolerance == "all"
    assert found.unknown_reason is None
    assert found.tasks is not None
    assert found.tasks[1] == Task(
        task=1,
        state="FAILED",
        worker="10.0.0.1:8083",
        error_class="org.apache.kafka.connect.errors.ConnectException",
        cause_class="com.fasterxml.jackson.core.JsonParseException",
        error="org.apache.kafka.connect.errors.ConnectException: "
        "Tolerance exceeded in error handler",
    )


def test_connects_defaults_hold_where_nothing_is_configured() -> None:
    found = read()
    assert (found.tasks_expected, found.errors_tolerance) == (1, "none")
    assert (found.dead_letter_topic, found.dead_letter_headers) == (None, False)


def test_a_sink_may_read_with_another_group() -> None:
    assert read(consumer__override__group__id="warehouse").group == "warehouse"


def test_topics_by_expression_are_not_listed() -> None:
    assert read(topics="", topics__regex="orders.*").topics is None


def test_a_source_has_neither_group_nor_dead_letters() -> None:
    found = read(type_="source", errors__tolerance="all")
    assert (found.type, found.group, found.dead_letter_headers) == ("source", None, None)
    assert (found.topics, found.errors_tolerance) == (None, None)


@pytest.mark.parametrize(
    ("tasks", "running", "failed"),
    [
        pytest.param({}, 0, 0, id="zero tasks"),
        pytest.param({0: "FAILED", 1: "FAILED"}, 0, 2, id="all failed under a running connector"),
        pytest.param({0: "UNASSIGNED", 1: "RUNNING"}, 1, 0, id="one waits for a worker"),
    ],
)
def test_tasks_are_counted(tasks: dict[int, str], running: int, failed: int) -> None:
    found = read(tasks=tasks)
    assert found.state == "RUNNING"
    assert found.tasks is not None
    assert (len(found.tasks), found.count("RUNNING"), found.count("FAILED")) == (
        len(tasks),
        running,
        failed,
    )


def test_a_task_without_a_status_is_a_task() -> None:
    answer = entry("a", tasks={0: "FAILED", 1: "RUNNING"})
    del answer["status"]["tasks"][1]
    (found,) = read_connectors({"a": answer}, Odd())
    assert found.tasks is not None
    assert [(task.task, task.state) for task in found.tasks] == [(0, "FAILED"), (1, None)]
    assert (found.count("FAILED"), found.count("RUNNING")) == (1, 0)


@pytest.mark.parametrize(
    ("trace", "error", "error_class"),
    [
        pytest.param(
            "org.example.Bad: " + "x" * 400 + "\n\tat a.b(C.java)",
            "org.example.Bad: " + "x" * 239,
            "org.example.Bad",
            id="long",
        ),
        pytest.param("org.example.Bad\n\tat x", "org.example.Bad", "org.example.Bad", id="bare"),
        pytest.param("it broke\nbadly", "it broke", None, id="no exception"),
        pytest.param("\n  \n", None, None, id="blank"),
        pytest.param(17, None, None, id="a number"),
    ],
)
def test_of_a_trace_the_first_line_is_taken(
    trace: Any, error: str | None, error_class: str | None
) -> None:
    found = read(tasks={0: "FAILED"}, traces={0: trace})
    assert found.tasks is not None
    assert (found.tasks[0].error, found.tasks[0].error_class) == (error, error_class)


def test_a_failed_connector_says_why() -> None:
    found = read(state="FAILED", tasks={}, trace=TRACE)
    assert found.state == "FAILED"
    assert found.error == TRACE.splitlines()[0]


@pytest.mark.parametrize(
    ("class_name", "kind"),
    [
        pytest.param(MIRROR_SOURCE, "mirror", id="MirrorMaker 2"),
        pytest.param(
            "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector", "mirror", id="heartbeats"
        ),
        pytest.param("io.debezium.connector.postgresql.PostgresConnector", "debezium", id="cdc"),
        pytest.param("com.example.Sink", "plain", id="any other"),
    ],
)
def test_the_class_tells_the_kind(class_name: str, kind: str) -> None:
    assert connector_kind(class_name) == kind


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param({}, f"{NO_STATUS}; {NO_CONFIGURATION}", id="empty"),
        pytest.param(None, f"{NO_STATUS}; {NO_CONFIGURATION}", id="null"),
        pytest.param({"info": entry("a")["info"]}, NO_STATUS, id="no status"),
        pytest.param({"status": entry("a")["status"]}, NO_CONFIGURATION, id="no configuration"),
        pytest.param(
            {"status": {"connector": [], "tasks": 3}, "info": {"config": "x", "tasks": {}}},
            f"{NO_STATUS}; {NO_CONFIGURATION}",
            id="wrong types",
        ),
    ],
)
def test_what_is_missing_is_unknown_and_costs_no_other_connector(answer: Any, reason: str) -> None:
    bad, good = read_connectors({"bad": answer, "good": entry("good")}, Odd())
    assert bad.unknown_reason == reason
    assert (good.state, good.unknown_reason) == ("RUNNING", None)
    if NO_CONFIGURATION in reason:
        assert bad.group is None
        assert bad.tasks_expected is None
    if NO_STATUS in reason:
        assert bad.state is None


def test_numbers_that_no_column_holds_are_unknown() -> None:
    assert read(tasks__max="99999999999").tasks_expected is None
    assert read(tasks__max="many").tasks_expected is None
    found = read(tasks={-1: "RUNNING", 2**40: "RUNNING", 3: "RUNNING"})
    assert found.tasks is not None
    assert [task.task for task in found.tasks] == [3]


def test_a_secret_reaches_no_value() -> None:
    found = read(
        state="FAILED",
        trace="a.B: login failed for hunter2secret at https://me:hunter2secret@db/",
        tasks={0: "FAILED"},
        traces={0: "a.B: bad password=hunter2secret\nCaused by: a.hunter2secret: x"},
        database__password="hunter2secret",  # noqa: S106  made up
    )
    assert found.error == "a.B: login failed for *** at https://***@db/"
    assert found.tasks is not None
    assert found.tasks[0].error == "a.B: bad password=***"
    assert "hunter2secret" not in repr(found)


@pytest.mark.parametrize("answer", [None, [], "text", 3])
def test_another_servers_list_is_refused(answer: Any) -> None:
    with pytest.raises(ProtocolError, match="is this url Kafka Connect's"):
        read_connectors(answer, Odd())


def test_names() -> None:
    assert read_names(["a", 3, None, "b", "a"], Odd()) == ["a", "b"]
    with pytest.raises(ProtocolError, match="is this url Kafka Connect's"):
        read_names({"a": 1}, Odd())


def test_a_mirrors_position_is_the_record_after_the_last_copied() -> None:
    answer = {
        "offsets": [
            {
                "partition": {"cluster": "east", "partition": 1, "topic": "orders"},
                "offset": {"offset": 51},
            },
            {"partition": {"partition": 0, "topic": "orders"}, "offset": {"offset": "47"}},
            {"partition": {"cluster": "east", "partition": 2, "topic": "orders"}, "offset": None},
            {"partition": {"sourceClusterAlias": "east"}, "offset": {"offset": 0}},
            {"partition": {"cluster": "east", "partition": -1, "topic": "t"}, "offset": {}},
            "garbage",
        ]
    }
    assert read_positions(answer, "west", Odd()) == [
        Position(alias="east", topic="orders", partition=1, replicated=52),
        Position(alias="west", topic="orders", partition=0, replicated=48),
        Position(alias="east", topic="orders", partition=2, replicated=None),
    ]


def test_offsets_of_an_unknown_form_are_an_error() -> None:
    with pytest.raises(ProtocolError, match="form that is not known"):
        read_positions({"error": 1}, None, Odd())
