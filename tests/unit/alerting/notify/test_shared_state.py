"""State that services share through the lake: a copy of it, and requests to its owner."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from alerting.errors import AlertingError, StoreError
from alerting.notify.requests import LARGEST_BYTES, Request
from alerting.notify.shared_state import SharedState, ask, is_shared, read_state
from alerting.notify.store import AlertStore
from config.load import load
from config.settings import Settings
from tests.unit.alerting.notify.storing import step

NOW = 1_000_000.0


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    path = tmp_path / "headroom.yaml"
    content = {
        "clusters": [{"name": "c", "bootstrap_servers": "localhost:1"}],
        "lake": {"uri": "lake"},
        "alerting": {"state": "alerts.sqlite", "shared": True},
    }
    path.write_text(yaml.safe_dump(content))
    return load(path)


@pytest.fixture
def owner(settings: Settings) -> Iterator[AlertStore]:
    store = AlertStore(Path(settings.alerting.state))
    yield store
    store.close()


@pytest.fixture
def shared(settings: Settings) -> SharedState:
    return SharedState(settings.lake)


def silence(at: float = NOW, **changed: object) -> Request:
    values = {
        "kind": "silence",
        "at": at,
        "author": "ana",
        "comment": "deploy",
        "matchers": ("group=payments",),
        "starts_at": at,
        "ends_at": at + 3600,
    }
    return Request(**{**values, **changed})  # type: ignore[arg-type]


def test_before_a_service_ever_ran_there_is_no_state(settings: Settings) -> None:
    assert read_state(settings) is None


def test_others_read_what_the_owner_published(
    settings: Settings, owner: AlertStore, shared: SharedState
) -> None:
    step(owner, NOW, "billing")
    shared.publish(owner, [])
    found = read_state(settings)
    assert found is not None
    assert found.alerts() == owner.alerts()
    assert found.notified("c") == owner.notified("c")


def test_what_is_asked_for_is_read_at_once_and_applied_once(
    settings: Settings, owner: AlertStore, shared: SharedState
) -> None:
    number = ask(settings, silence())
    seen = read_state(settings)
    assert seen is not None and [one.id for one in seen.silences()] == [number]
    assert owner.silences() == []  # the owner alone writes its state
    taken = shared.take(owner)
    assert shared.take(owner) == taken  # a service that ended before it published does it again
    shared.publish(owner, taken)
    assert [one.id for one in owner.silences()] == [number]
    assert shared.take(owner) == []
    seen = read_state(settings)
    assert seen is not None and [one.author for one in seen.silences()] == ["ana"]


def test_an_end_that_is_applied_again_does_not_bring_a_silence_back(
    settings: Settings, owner: AlertStore, shared: SharedState
) -> None:
    number = ask(settings, silence())
    assert ask(settings, Request(kind="end", at=NOW + 60, number=number)) == number
    shared.take(owner)
    shared.take(owner)
    (one,) = owner.silences()
    assert one.ends_at == NOW + 60
    assert ask(settings, Request(kind="end", at=NOW + 61, number=number)) == 0


def test_two_who_ask_at_once_get_two_silences(
    settings: Settings, owner: AlertStore, shared: SharedState
) -> None:
    numbers = {ask(settings, silence()), ask(settings, silence(comment="another"))}
    shared.take(owner)
    assert {one.id for one in owner.silences()} == numbers
    assert len(numbers) == 2


def test_an_acknowledgement_reaches_the_owner(
    settings: Settings, owner: AlertStore, shared: SharedState
) -> None:
    step(owner, NOW, "billing")
    (alert,) = owner.alerts().values()
    ask(settings, Request(kind="acknowledge", at=NOW, alert=alert.id, author="ana"))
    shared.take(owner)
    assert owner.acknowledgements()[alert.id].author == "ana"
    back = Request(kind="take back", at=NOW + 1, alert=alert.id, author="b", acknowledged_at=NOW)
    assert ask(settings, replace(back, acknowledged_at=NOW - 1)) == 0
    assert ask(settings, back) == 1
    assert ask(settings, replace(back, at=NOW + 2, author="eve")) == 0, "it shows at once"
    assert owner.acknowledgements(), "the owner alone writes its state"
    for _ in range(2):
        shared.take(owner)
        assert owner.acknowledgements() == {}
        assert [one.by for one in owner.taken_back()] == ["b"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"matchers": ()},
        {"author": " "},
        {"matchers": ("group=~(",)},
        {"ends_at": NOW - 1},
    ],
)
def test_what_cannot_be_done_is_refused_where_it_is_asked(
    settings: Settings, shared: SharedState, owner: AlertStore, wrong: dict[str, object]
) -> None:
    with pytest.raises(ValueError):
        ask(settings, silence(**wrong))
    assert shared.take(owner) == []


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b"[" * 50_000, id="nested"),
        pytest.param(b"x" * (LARGEST_BYTES + 1), id="large"),
        pytest.param(b'{"kind": "drop"}', id="kind"),
        pytest.param(b'{"kind": "end", "at": 1.0}', id="no number"),
        pytest.param(b'{"kind": "end", "at": 1.0, "number": true}', id="bool"),
        pytest.param(b'{"kind": "end", "at": 1.0, "number": 99999999999999999999}', id="huge"),
        pytest.param(b'{"kind": "acknowledge", "at": 1.0, "sql": "x"}', id="unknown key"),
        pytest.param(b'{"kind": "silence", "at": 1, "number": 1, "matchers": [1]}', id="matcher"),
    ],
)
def test_a_request_that_is_none_is_left_out_and_the_next_is_done(
    settings: Settings,
    owner: AlertStore,
    shared: SharedState,
    content: bytes,
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = Path(settings.lake.uri) / "alerting" / "requests"
    folder.mkdir(parents=True)
    (folder / "000000000000001-bad.json").write_bytes(content)
    number = ask(settings, silence())
    assert read_state(settings) is not None
    taken = shared.take(owner)
    assert "000000000000001-bad.json" in caplog.text
    assert [one.id for one in owner.silences()] == [number]
    shared.publish(owner, taken)
    assert list(folder.iterdir()) == []


def test_the_next_service_goes_on_from_the_copy(
    settings: Settings, owner: AlertStore, shared: SharedState, tmp_path: Path
) -> None:
    assert step(owner, NOW, "billing") == 1
    shared.publish(owner, [])
    elsewhere = tmp_path / "other machine" / "alerts.sqlite"
    SharedState(settings.lake).restore(elsewhere)
    other = AlertStore(elsewhere)
    assert step(other, NOW + 15, "billing") == 0  # it was told already
    other.close()


def test_a_file_that_is_ahead_of_its_own_copy_is_kept(
    settings: Settings, owner: AlertStore, shared: SharedState
) -> None:
    shared.publish(owner, [])
    step(owner, NOW, "billing")
    SharedState(settings.lake).restore(Path(settings.alerting.state))
    again = AlertStore(Path(settings.alerting.state))
    assert len(again.alerts()) == 1
    again.close()


def test_a_file_whose_last_copy_was_not_written_is_kept(
    settings: Settings, owner: AlertStore, shared: SharedState
) -> None:
    shared.publish(owner, [])
    copy = Path(settings.lake.uri) / "alerting" / "state"
    kept = {one: one.read_bytes() for one in copy.iterdir()}
    step(owner, NOW, "billing")
    shared.publish(owner, [])
    for path, content in kept.items():  # as if the second one had failed
        path.write_bytes(content)
    SharedState(settings.lake).restore(Path(settings.alerting.state))
    again = AlertStore(Path(settings.alerting.state))
    assert len(again.alerts()) == 1
    again.close()


def test_a_file_of_before_another_service_worked_is_replaced(
    settings: Settings, owner: AlertStore, shared: SharedState, tmp_path: Path
) -> None:
    shared.publish(owner, [])
    owner.close()
    elsewhere = tmp_path / "other.sqlite"
    theirs = SharedState(settings.lake)
    theirs.restore(elsewhere)
    other = AlertStore(elsewhere)
    step(other, NOW, "billing")
    theirs.publish(other, [])
    theirs.publish(other, [])
    other.close()
    SharedState(settings.lake).restore(Path(settings.alerting.state))
    again = AlertStore(Path(settings.alerting.state))
    assert len(again.alerts()) == 1
    again.close()


@pytest.mark.parametrize("damage", [b"", b"no gzip", b"\x1f\x8b\x08\x00cut"])
def test_a_damaged_copy_is_one_line(
    settings: Settings, owner: AlertStore, shared: SharedState, damage: bytes
) -> None:
    shared.publish(owner, [])
    (copy,) = (Path(settings.lake.uri) / "alerting" / "state").iterdir()
    copy.write_bytes(damage)
    with pytest.raises(StoreError, match="damaged"):
        read_state(settings)


def test_a_copy_of_another_version_is_refused(owner: AlertStore) -> None:
    copy = bytearray(owner.copy())
    copy[60:64] = (99).to_bytes(4, "big")  # SQLite's user_version
    with pytest.raises(StoreError, match=r"^the state of alerts in the lake: .* version 99"):
        AlertStore.of_copy(bytes(copy))


def test_a_lake_that_cannot_be_read_is_one_error(settings: Settings) -> None:
    folder = Path(settings.lake.uri) / "alerting"
    folder.mkdir(parents=True)
    (folder / "requests").write_text("a file")
    with pytest.raises(AlertingError, match="requests"):
        read_state(settings)


def test_a_request_is_read_back_as_it_was() -> None:
    back = Request(kind="take back", at=2.0, alert="a", author="b", acknowledged_at=1.25)
    for request in (silence(number=5), Request(kind="acknowledge", at=1.0, alert="a"), back):
        assert Request.from_json(request.to_json()) == request
    assert "number" in json.loads(silence(number=7).to_json())


def test_the_state_is_shared_where_the_lake_is_an_object_store(
    settings: Settings, tmp_path: Path
) -> None:
    assert is_shared(settings)
    path = tmp_path / "headroom.yaml"
    for uri, wanted in (("lake", False), ("s3://bucket/lake", True)):
        content = yaml.safe_load(path.read_text())
        content["lake"] = {"uri": uri}
        content["alerting"].pop("shared", None)
        path.write_text(yaml.safe_dump(content))
        assert is_shared(load(path)) is wanted
