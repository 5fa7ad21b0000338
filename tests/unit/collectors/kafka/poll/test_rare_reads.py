"""How often a poll asks for what changes rarely."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from collectors.errors import CollectorError, NoAnswerError, RefusedError, UnsupportedError
from collectors.kafka.cluster.settings_reads import BrokerVersion
from collectors.kafka.poll import cluster_settings, rare_reads
from collectors.kafka.poll.cluster_settings import SettingsReads
from collectors.kafka.poll.outcome import attempt
from collectors.kafka.poll.rare_reads import RegistrationReads
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.poll_context import PollContext
from config.settings import Feature

VERSION = BrokerVersion(
    release="4.3", supported={"metadata.version": 30}, finalized={"metadata.version": 30}, epoch=1
)


class Reads:
    """What is asked for, and what is answered."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.clock, self.takes_seconds = 0.0, 0.0
        clock = SimpleNamespace(monotonic=lambda: self.clock)
        monkeypatch.setattr(cluster_settings, "time", clock)
        self.answers: dict[str, Any] = {
            "read_versions": {1: VERSION},
            "read_broker_configs": {1: {"a": ("1", True)}},
            "read_group_configs": {},
            "read_client_quotas": {},
            "read_acls": {"User:a": {"rule": ""}},
            "read_scram_users": {},
            "read_registrations": {1: False, 2: True},
        }
        for name in self.answers:
            module = rare_reads if hasattr(rare_reads, name) else cluster_settings
            monkeypatch.setattr(module, name, self._reader(name))
        self.settings = SettingsReads()
        self._registrations = RegistrationReads()
        self.unknown: Mapping[str, str] = {}

    def _reader(self, name: str) -> Any:
        def read(*_: object) -> Any:
            self.asked.append(name)
            self.clock += self.takes_seconds
            answer = self.answers[name]
            if isinstance(answer, CollectorError):
                raise answer.again()
            return answer

        return read

    def settings_found(
        self,
        at: float,
        *,
        left_seconds: float = 10.0,
        remembered: tuple[int, ...] = (1,),
        switched_off: tuple[Feature, ...] = (),
    ) -> Mapping[str, Any]:
        """Return what administrators have set, by a poll."""
        self.asked.clear()
        context = _context(at, left_seconds)
        found = self.settings.read(context, [1], remembered, switched_off)
        self.unknown = found.unknown
        return found.found

    def registrations(
        self, at: float, alive: tuple[int, ...] = (1,), *, left_seconds: float = 10.0
    ) -> Mapping[int, bool]:
        """Return which brokers are registered, by a poll."""
        self.asked.clear()
        return self._registrations.read(_context(at, left_seconds), alive)


def _context(at: float, left_seconds: float) -> PollContext:
    return PollContext(
        wire=cast(Wire, SimpleNamespace()),
        deadline=Deadline(left_seconds, 10),
        now=datetime(2026, 11, 20, tzinfo=UTC),
        tick=at,
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


def test_what_was_read_stands_for_five_minutes(asked: Reads) -> None:
    expected: Mapping[str, Any] = {
        "broker version": {"1": {"release": "4.3"}},
        "feature": {"metadata.version": {"level": "30", "supported": "30"}},
        "broker configuration": {"1": {"a": "1"}},
        "group configuration": {},
        "client quota": {},
        "acl": {"User:a": {"rule": ""}},
        "scram user": {},
    }
    assert asked.settings_found(1000) == expected
    assert len(asked.asked) == 6
    assert asked.settings_found(1299) == expected
    assert asked.asked == []
    asked.settings_found(1300)
    assert len(asked.asked) == 6


def test_an_epoch_that_grows_alone_is_no_change(asked: Reads) -> None:
    first = asked.settings.read(_context(0.0, 10.0), [1], [1], [])
    asked.answers["read_versions"] = {1: replace(VERSION, epoch=2)}
    second = asked.settings.read(_context(1000.0, 10.0), [1], [1], [])
    assert second.versions[1].epoch == 2
    assert second == first
    asked.answers["read_versions"] = {1: replace(VERSION, epoch=3, release="4.4")}
    assert asked.settings.read(_context(2000.0, 10.0), [1], [1], []) != first


def test_slow_reads_are_left_to_the_next_polls(asked: Reads) -> None:
    asked.takes_seconds = 0.6
    assert asked.settings_found(1000).keys() == {"broker version", "feature"} | {
        "broker configuration"
    }
    assert asked.settings_found(1015).keys() >= {"group configuration", "client quota"}
    assert asked.settings_found(1030).keys() == cluster_settings.SETTINGS.keys()
    assert asked.unknown == {}


def test_what_a_poll_had_no_time_for_is_read_in_the_next(asked: Reads) -> None:
    late = NoAnswerError("the time for this poll is over")
    asked.answers |= {"read_acls": late, "read_registrations": late}
    asked.settings_found(1000, left_seconds=-1.0)
    assert asked.unknown == {"acl": str(late)}
    with pytest.raises(NoAnswerError):
        asked.registrations(1000, left_seconds=-1.0)
    asked.answers |= {"read_acls": {}, "read_registrations": {1: False}}
    assert asked.settings_found(1015)["acl"] == {}
    assert asked.unknown == {}
    assert asked.registrations(1015) == {1: False}


@pytest.mark.parametrize(
    ("error", "again_at"),
    [
        pytest.param(RefusedError("not permitted"), 1300, id="refused"),
        pytest.param(NoAnswerError("did not answer"), 1060, id="silent"),
    ],
)
def test_what_could_not_be_read_stays_as_it_was_known(
    asked: Reads, error: CollectorError, again_at: float
) -> None:
    asked.settings = SettingsReads({"acl": {"User:before": {}}})
    asked.answers["read_acls"] = error
    assert asked.settings_found(1000)["acl"] == {"User:before": {}}
    assert asked.unknown == {"acl": str(error)}
    asked.settings_found(again_at - 1)
    assert asked.asked == []
    asked.settings_found(again_at)
    assert "read_acls" in asked.asked


def test_what_is_not_offered_or_switched_off_is_not_known(asked: Reads) -> None:
    asked.settings = SettingsReads({"acl": {"User:before": {}}, "scram user": {"before": {}}})
    asked.answers["read_scram_users"] = UnsupportedError("too old")
    found = asked.settings_found(1000, switched_off=("acls", "versions"))
    assert found.keys() == {"broker configuration", "group configuration", "client quota"}
    assert asked.unknown == {}
    assert "read_acls" not in asked.asked


def test_no_features_are_claimed_where_no_broker_tells(asked: Reads) -> None:
    asked.answers["read_versions"] = {1: NoAnswerError("silent")}
    assert "feature" not in asked.settings_found(1000)
    assert asked.unknown.keys() == {"broker version", "feature"}


def test_a_broker_that_is_silent_keeps_its_settings_and_one_that_is_gone_does_not(
    asked: Reads,
) -> None:
    two = {1: {"a": ("1", True)}, 2: {"a": ("2", True)}}
    asked.answers["read_broker_configs"] = two
    asked.settings_found(1000, remembered=(1, 2))
    asked.answers["read_broker_configs"] = {1: two[1], 2: NoAnswerError("silent")}
    found = asked.settings_found(1300, remembered=(1, 2))
    assert found["broker configuration"].keys() == {"1", "2"}
    assert asked.settings_found(1600)["broker configuration"].keys() == {"1"}


def test_registrations_are_read_when_a_broker_comes_or_goes(asked: Reads) -> None:
    assert asked.registrations(1000) == {1: False, 2: True}
    assert asked.registrations(1001) == {1: False, 2: True}
    assert asked.asked == []
    asked.registrations(1002, alive=(1, 2))
    assert asked.asked == ["read_registrations"]


def test_why_registrations_are_unknown_is_said_at_every_poll(asked: Reads) -> None:
    asked.answers["read_registrations"] = RefusedError("not permitted")
    for at in (1000, 1001):
        with pytest.raises(RefusedError):
            asked.registrations(at)
    assert asked.asked == []


def test_an_error_that_is_kept_keeps_nothing_of_the_polls_that_it_was_raised_in(
    asked: Reads,
) -> None:
    asked.answers["read_registrations"] = RefusedError("not permitted")

    class Read:
        """What a poll has read."""

    kept: list[weakref.ref[Read]] = []

    def poll(at: float) -> None:
        read = Read()  # as the sequence holds what was read so far
        kept.append(weakref.ref(read))
        outcome = attempt(lambda: asked.registrations(at))
        with suppress(RefusedError):
            _ = outcome.value

    gc.disable()
    try:
        for at in (1000, 1001, 1002):
            poll(at)
        assert [ref() for ref in kept] == [None, None, None]
    finally:
        gc.enable()
