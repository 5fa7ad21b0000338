from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from collectors.schema_registry import client as client_module
from collectors.schema_registry.source import SchemaRegistrySource
from collectors.source.model import SectionResult
from config.integrations import SchemaRegistrySettings
from tests.unit.collectors.ditto.answering import Answering, Reply, answering, seconds_of
from tests.unit.collectors.schema_registry.fakeregistry import FakeRegistry, refused

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
HTML = Reply(b"<html>sign in</html>", 200, {"content-type": "text/html"})


@pytest.fixture
def registry() -> FakeRegistry:
    return FakeRegistry()


@pytest.fixture
def server(registry: FakeRegistry) -> Iterator[Answering]:
    with answering(registry.answer) as served:
        yield served


@pytest.fixture
def each_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each poll ask about each subject."""
    monkeypatch.setattr(client_module, "READ_EVERY_SECONDS", -1.0)


def source_of(server: Answering, **settings: Any) -> SchemaRegistrySource:
    configured = SchemaRegistrySettings(name="main", url=server.url, **settings)
    return SchemaRegistrySource(configured, "production", 5.0)


def poll(source: SchemaRegistrySource) -> SectionResult:
    (result,) = source.poll(NOW)
    return result


def rows(result: SectionResult, table: str = "schema_subjects") -> list[dict[str, Any]]:
    return result.frames[table].to_dicts()


def changes(result: SectionResult) -> list[tuple[Any, ...]]:
    return result.frames["cluster_events"].select("kind", "subject", "before", "after").rows()


def paths(server: Answering) -> list[str]:
    return [request.path for request in server.requests]


def test_subjects_have_their_newest_version_and_the_levels_that_hold(
    registry: FakeRegistry, server: Answering
) -> None:
    registry.add("orders-value", 3, schemaType="PROTOBUF")
    registry.add("com.example.Order")
    registry.levels["config"]["orders-value"] = "FULL_TRANSITIVE"
    registry.levels["mode"]["orders-value"] = "READONLY"
    registry.deleted = ["old-key"]
    result = poll(source_of(server))
    assert (result.status, result.error) == ("ok", None)
    assert rows(result, "schema_registries") == [
        {
            "schema_registry": "main",
            "subjects": 2,
            "subjects_unknown": 0,
            "deleted_subjects": 1,
            "compatibility": "BACKWARD",
            "mode": "READWRITE",
            "unknown_reason": None,
        }
    ]
    record, value, deleted = rows(result)
    assert value.pop("read_at") is not None
    assert value == {
        "schema_registry": "main",
        "subject": "orders-value",
        "topic": "orders",
        "version": 3,
        "schema_id": 103,
        "schema_type": "PROTOBUF",
        "compatibility": "FULL_TRANSITIVE",
        "compatibility_is_own": True,
        "mode": "READONLY",
        "is_deleted": False,
        "unknown_reason": None,
    }
    assert (record["topic"], record["schema_type"]) == (None, "AVRO")
    assert (record["compatibility"], record["compatibility_is_own"]) == ("BACKWARD", False)
    assert record["mode"] == "READWRITE"
    assert (deleted["subject"], deleted["topic"], deleted["is_deleted"]) == ("old-key", "old", True)
    assert deleted["version"] is None
    assert changes(result) == []


def test_a_subject_in_a_context_has_the_level_of_its_context(
    registry: FakeRegistry, server: Answering
) -> None:
    name = ":.east:a/b ü-value"
    registry.add(name, 2)
    registry.levels["config"][":.east:"] = "NONE"
    (row,) = rows(poll(source_of(server)))
    assert (row["topic"], row["version"]) == ("a/b ü", 2)
    assert (row["compatibility"], row["compatibility_is_own"]) == ("NONE", False)
    assert row["mode"] == "READWRITE"


def test_what_is_switched_off_is_not_asked_for(registry: FakeRegistry, server: Answering) -> None:
    registry.add("orders-value")
    result = poll(source_of(server, switched_off=["versions", "compatibility", "mode", "deleted"]))
    assert (result.status, paths(server)) == ("ok", ["/subjects"])
    (row,) = rows(result)
    assert {row[name] for name in ("version", "compatibility", "mode")} == {None}
    (total,) = rows(result, "schema_registries")
    assert (total["subjects"], total["subjects_unknown"], total["deleted_subjects"]) == (
        1,
        None,
        None,
    )


def test_only_selected_subjects_are_watched(registry: FakeRegistry, server: Answering) -> None:
    registry.add("orders-value")
    registry.add("test-value")
    registry.deleted = ["test-key"]
    result = poll(source_of(server, subjects={"exclude": ["test-.*"]}))
    assert [row["subject"] for row in rows(result)] == ["orders-value"]
    assert rows(result, "schema_registries")[0]["deleted_subjects"] == 0
    assert not any("test-value" in path for path in paths(server))


def test_a_poll_asks_about_a_few_of_many_subjects(
    registry: FakeRegistry, server: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4000):
        registry.add(f"topic-{number}-value")
    monkeypatch.setattr(client_module, "_SUBJECTS_SECONDS", 0.1)
    source = source_of(server)
    polls: list[SectionResult] = []
    took = seconds_of(lambda: polls.append(poll(source)))
    (first,) = polls
    (total,) = rows(first, "schema_registries")
    known = 4000 - total["subjects_unknown"]
    assert 0 < known < 1000
    assert took < 3.0
    assert f"{4000 - known} of 4000 subjects were not read yet" in (first.error or "")
    reasons = [row["unknown_reason"] for row in rows(first)]
    assert reasons.count("not read yet") == 4000 - known
    second = poll(source)
    asked = [path for path in paths(server) if path.endswith("latest")]
    assert len(asked) == len(set(asked)) > known
    # All are written once a minute at most while more and more become known.
    assert rows(second) == []


def test_what_was_read_is_left_alone_for_a_while(
    registry: FakeRegistry, server: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.add("orders-value")
    source = source_of(server)
    poll(source)
    registry.add("new-value")
    poll(source)

    def asked() -> list[str]:
        return [path.split("/")[2] for path in paths(server) if path.endswith("latest")]

    assert asked() == ["orders-value", "new-value"]
    later = time.monotonic() + client_module.READ_EVERY_SECONDS
    monkeypatch.setattr(client_module, "time", SimpleNamespace(monotonic=lambda: later))
    registry.add("newest-value")
    poll(source)
    # New ones first, then those that were not read for longest.
    assert asked()[2:] == ["newest-value", "orders-value", "new-value"]


def test_rows_of_subjects_come_when_one_changes(
    registry: FakeRegistry, server: Answering, each_poll: None
) -> None:
    registry.add("orders-value")
    source = source_of(server)
    assert len(rows(poll(source))) == 1
    assert rows(poll(source)) == []
    registry.add("orders-value", 2)
    assert [row["version"] for row in rows(poll(source))] == [2]


def test_changes_are_events(registry: FakeRegistry, server: Answering, each_poll: None) -> None:
    registry.add("orders-value", 3)
    registry.add("gone-value")
    source = source_of(server)
    assert changes(poll(source)) == []
    assert changes(poll(source)) == []
    registry.add("orders-value", 4)
    registry.add("new-value")
    del registry.subjects["gone-value"]
    registry.levels["config"] |= {"": "FULL", "orders-value": "NONE"}
    registry.levels["mode"]["orders-value"] = "IMPORT"
    assert changes(poll(source)) == [
        ("schema subject created", "new-value", None, None),
        ("schema subject deleted", "gone-value", None, None),
        ("registry compatibility changed", "main", "compatibility=BACKWARD", "compatibility=FULL"),
        (
            "schema version changed",
            "orders-value",
            "version=3, id=103, type=AVRO",
            "version=4, id=104, type=AVRO",
        ),
        ("schema compatibility changed", "orders-value", None, "compatibility=NONE"),
        ("schema mode changed", "orders-value", None, "mode=IMPORT"),
    ]
    del registry.levels["config"]["orders-value"]
    assert changes(poll(source)) == [
        ("schema compatibility changed", "orders-value", "compatibility=NONE", None)
    ]


def test_what_was_unknown_has_not_changed(
    registry: FakeRegistry, server: Answering, each_poll: None
) -> None:
    registry.add("orders-value", 3)
    source = source_of(server)
    poll(source)
    for path in ("/config", "/config/orders-value", "/subjects/orders-value/versions/latest"):
        registry.broken[path] = refused(403, 40301)
    result = poll(source)
    assert (result.status, changes(result)) == ("partial", [])
    (row,) = rows(result)
    assert row["version"] == 3
    assert "not permitted to this user (403)" in row["unknown_reason"]
    registry.broken.clear()
    registry.levels["config"][""] = "FULL"
    assert changes(poll(source)) == [
        ("registry compatibility changed", "main", "compatibility=BACKWARD", "compatibility=FULL")
    ]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        pytest.param(refused(401, 40101), "refused the credentials (401)", id="401"),
        pytest.param(refused(403, 40301), "/subjects is not permitted to this user", id="403"),
        pytest.param(refused(404, 40401), "/subjects does not exist (404)", id="404"),
        pytest.param(refused(500, 50001), '/subjects answered 500: {"error_code": 50001', id="500"),
        pytest.param(HTML, "not JSON: is this the right URL?", id="a page"),
        pytest.param(Reply(b"{}"), "/subjects did not answer a list", id="no list"),
        pytest.param(Reply(b"[", cut_after=0), "cut the connection", id="cut"),
    ],
)
def test_a_registry_that_does_not_tell_its_subjects_fails(
    registry: FakeRegistry, server: Answering, reply: Reply, said: str
) -> None:
    registry.broken["/subjects"] = reply
    result = poll(source_of(server))
    assert result.status == "failed"
    assert said in (result.error or "")
    assert result.frames == {}


def test_a_registry_that_is_not_there_fails(server: Answering) -> None:
    source = source_of(server, request_timeout_seconds=0.3)
    server.answer = lambda request: Reply(delay_seconds=5.0)
    result = poll(source)
    assert (result.status, "did not answer within 0.3 s" in (result.error or "")) == (
        "failed",
        True,
    )


def test_a_registry_without_modes_has_none(registry: FakeRegistry, server: Answering) -> None:
    registry.add("orders-value")
    registry.broken |= {"/mode": Reply(status=404), "/mode/orders-value": Reply(status=204)}
    result = poll(source_of(server))
    assert (result.status, result.error) == ("ok", None)
    (row,) = rows(result)
    assert (row["mode"], row["compatibility"]) == (None, "BACKWARD")


def test_parts_that_are_refused_are_unknown_and_say_why(
    registry: FakeRegistry, server: Answering
) -> None:
    registry.add("orders-value", 3)
    for path in ("/config", "/config/orders-value", "/mode/orders-value"):
        registry.broken[path] = refused(403, 40301)
    result = poll(source_of(server))
    assert result.status == "partial"
    assert f"compatibility: {server.url}/config is not permitted" in (result.error or "")
    (row,) = rows(result)
    assert (row["version"], row["compatibility"], row["compatibility_is_own"]) == (3, None, None)
    assert (row["mode"], "/config/orders-value" in row["unknown_reason"]) == (None, True)


def test_a_listed_subject_without_a_version_says_so(
    registry: FakeRegistry, server: Answering
) -> None:
    registry.add("orders-value", 3)
    registry.broken["/subjects/orders-value/versions/latest"] = refused(404, 40402)
    result = poll(source_of(server))
    assert result.status == "partial"
    assert "1 subject is not known in full: it is listed, and" in (result.error or "")
    assert rows(result, "schema_registries")[0]["subjects_unknown"] == 1


def test_a_subject_that_is_never_answered_does_not_hold_up_the_others(
    registry: FakeRegistry, server: Answering
) -> None:
    for name in ("a-value", "b-value", "c-value"):
        registry.add(name, 2)
    registry.broken["/subjects/a-value/versions/latest"] = Reply(delay_seconds=5.0)
    source = source_of(server, request_timeout_seconds=1.0)
    first = poll(source)
    assert first.status == "partial"
    assert rows(first, "schema_registries")[0]["subjects_unknown"] == 3
    second = poll(source)
    assert rows(second, "schema_registries")[0]["subjects_unknown"] == 1
    assert "1 of 3 subjects were not read yet" in (second.error or "")


def test_a_restart_goes_on_where_the_last_poll_ended(
    registry: FakeRegistry, server: Answering, each_poll: None
) -> None:
    registry.add("orders-value", 3)
    registry.add("payments-value", 1)
    registry.levels["config"]["orders-value"] = "FULL"
    before = poll(source_of(server))
    registry.add("orders-value", 4)
    registry.add("new-value")
    registry.levels["config"] = {"": "NONE"}
    source = source_of(server)
    assert [recall.only for recall in source.recalls] == [{"schema_registry": "main"}] * 2
    source.remember(before.frames)
    assert changes(poll(source)) == [
        ("registry compatibility changed", "main", "compatibility=BACKWARD", "compatibility=NONE"),
        (
            "schema version changed",
            "orders-value",
            "version=3, id=103, type=AVRO",
            "version=4, id=104, type=AVRO",
        ),
        ("schema compatibility changed", "orders-value", "compatibility=FULL", None),
    ]


def test_a_registry_that_was_emptied_recalls_no_older_subjects(
    registry: FakeRegistry, server: Answering
) -> None:
    registry.add("orders-value", 3)
    older = poll(source_of(server)).frames["schema_subjects"]
    registry.subjects.clear()
    empty = poll(source_of(server)).frames["schema_registries"]
    registry.add("orders-value", 4)
    source = source_of(server)
    source.remember({"schema_registries": empty, "schema_subjects": older})
    assert changes(poll(source)) == []


def test_checks_name_what_is_missing(registry: FakeRegistry, server: Answering) -> None:
    registry.add("orders-value")
    registry.deleted = ["old-value"]
    source = source_of(server)
    assert [(check.feature, check.works, check.detail) for check in source.check()] == [
        ("subjects", True, "1 subject is watched"),
        ("the registry's compatibility", True, "BACKWARD"),
        ("the registry's mode", True, "READWRITE"),
        ("deleted subjects", True, "1 are told"),
        ("versions and levels of subjects", True, "of orders-value"),
    ]
    registry.broken["/mode"] = Reply(status=404)
    registry.broken["/config"] = refused(403, 40301)
    registry.broken["/subjects/orders-value/versions/latest"] = refused(403, 40301)
    found = {check.feature: check for check in source.check()}
    assert found["the registry's mode"].works is None
    assert found["the registry's compatibility"].works is False
    assert "not permitted" in found["versions and levels of subjects"].detail
    registry.broken["/subjects"] = refused(401, 40101)
    (check,) = source.check()
    assert (check.works, check.required) == (False, True)


def test_no_schema_is_kept(registry: FakeRegistry, server: Answering) -> None:
    registry.add("orders-value", schema='{"doc":"hunter2"}')
    result = poll(source_of(server))
    said = "".join(frame.write_json() for frame in result.frames.values())
    assert "orders-value" in said
    assert "hunter2" not in said


def test_rows_have_the_types_of_their_tables(registry: FakeRegistry, server: Answering) -> None:
    result = poll(source_of(server))
    assert result.frames["schema_subjects"].schema["version"] == pl.Int32
