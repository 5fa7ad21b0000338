"""How often a poll asks for what changes rarely."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from collectors.errors import CollectorError, NoAnswerError, RefusedError, UnsupportedError
from collectors.kafka.cluster.settings_reads import BrokerVersion
from collectors.kafka.poll import cluster_settings, reads
from collectors.kafka.poll.reads import PollView
from collectors.kafka.poll.state import Memory
from collectors.kafka.protocol.broker_requests import Broker, Deadline, Wire
from collectors.source.shared_facts import SharedFacts
from config.settings import ClusterSettings

VERSION = BrokerVersion(
    release="4.3", supported={"metadata.version": 30}, finalized={"metadata.version": 30}, epoch=1
)


class Reads:
    """What is asked for, and what is answered."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.clock, self.takes_seconds = 0.0, 0.0
        clock = SimpleNamespace(monotonic=lambda: self.clock)
        monkeypatch.setattr(reads, "time", clock)
        monkeypatch.setattr(cluster_settings, "time", clock)
        self.answers: dict[str, Any] = {
            "read_versions": {1: VERSION},
            "read_broker_configs": {1: {"a": ("1", True)}},
            "read_client_quotas": {},
            "read_acls": {"User:a": {"rule": ""}},
            "read_scram_users": {},
            "read_registrations": {1: False, 2: True},
        }
        for name in self.answers:
            module = reads if hasattr(reads, name) else cluster_settings
            monkeypatch.setattr(module, name, self._reader(name))
        self.brokers: tuple[Broker, ...] = ()
        monkeypatch.setattr(
            reads, "read_metadata", lambda *_: SimpleNamespace(cluster_id="x", brokers=self.brokers)
        )
        self.memory = Memory(brokers={1: Broker(broker_id=1, host="a", port=9092)})

    def _reader(self, name: str) -> Any:
        def read(*_: object) -> Any:
            self.asked.append(name)
            self.clock += self.takes_seconds
            answer = self.answers[name]
            if isinstance(answer, CollectorError):
                raise answer
            return answer

        return read

    def poll(
        self,
        at: float,
        alive: tuple[int, ...] = (1,),
        *,
        left_seconds: float = 10.0,
        **settings: Any,
    ) -> PollView:
        view = PollView(
            cast(Wire, SimpleNamespace()),
            ClusterSettings(name="c", bootstrap_servers="a:9092", **settings),
            (bool, bool),
            self.memory,
            datetime(2026, 11, 20, tzinfo=UTC),
            Deadline(left_seconds, 10),
            SharedFacts(),
        )
        view.tick = at
        self.brokers = tuple(Broker(broker_id=broker, host="a", port=9092) for broker in alive)
        self.asked.clear()
        return view


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


def test_what_was_read_stands_for_five_minutes(asked: Reads) -> None:
    expected: Mapping[str, Any] = {
        "broker version": {"1": {"release": "4.3"}},
        "feature": {"metadata.version": {"level": "30", "supported": "30"}},
        "broker configuration": {"1": {"a": "1"}},
        "client quota": {},
        "acl": {"User:a": {"rule": ""}},
        "scram user": {},
    }
    assert asked.poll(1000).settings_found == expected
    assert len(asked.asked) == 5
    assert asked.poll(1299).settings_found == expected
    assert asked.asked == []
    _ = asked.poll(1300).settings_found
    assert len(asked.asked) == 5


def test_a_kind_can_be_asked_for_alone(asked: Reads) -> None:
    assert asked.poll(1000).cluster_settings.read("feature") == {
        "metadata.version": {"level": "30", "supported": "30"}
    }
    assert asked.asked == ["read_versions"]


def test_slow_reads_are_left_to_the_next_polls(asked: Reads) -> None:
    asked.takes_seconds = 0.6
    assert asked.poll(1000).settings_found.keys() == {"broker version", "feature"} | {
        "broker configuration"
    }
    assert asked.poll(1015).settings_found.keys() >= {"client quota", "acl"}
    assert asked.poll(1030).settings_found.keys() == cluster_settings.SETTINGS.keys()
    assert asked.memory.settings.unknown == {}


def test_what_a_poll_had_no_time_for_is_read_in_the_next(asked: Reads) -> None:
    late = NoAnswerError("the time for this poll is over")
    asked.answers |= {"read_acls": late, "read_registrations": late}
    view = asked.poll(1000, left_seconds=-1.0)
    _ = view.settings_found
    assert asked.memory.settings.unknown == {"acl": str(late)}
    with pytest.raises(NoAnswerError):
        _ = view.registrations
    asked.answers |= {"read_acls": {}, "read_registrations": {1: False}}
    view = asked.poll(1015)
    assert view.settings_found["acl"] == {}
    assert asked.memory.settings.unknown == {}
    assert view.registrations == {1: False}


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
    asked.memory.settings.found = {"acl": {"User:before": {}}}
    asked.answers["read_acls"] = error
    assert asked.poll(1000).settings_found["acl"] == {"User:before": {}}
    assert asked.memory.settings.unknown == {"acl": str(error)}
    _ = asked.poll(again_at - 1).settings_found
    assert asked.asked == []
    _ = asked.poll(again_at).settings_found
    assert "read_acls" in asked.asked


def test_what_is_not_offered_or_switched_off_is_not_known(asked: Reads) -> None:
    asked.memory.settings.found = {"acl": {"User:before": {}}, "scram user": {"before": {}}}
    asked.answers["read_scram_users"] = UnsupportedError("too old")
    found = asked.poll(1000, switched_off=["acls", "versions"]).settings_found
    assert found.keys() == {"broker configuration", "client quota"}
    assert asked.memory.settings.unknown == {}
    assert "read_acls" not in asked.asked


def test_no_features_are_claimed_where_no_broker_tells(asked: Reads) -> None:
    asked.answers["read_versions"] = {1: NoAnswerError("silent")}
    assert "feature" not in asked.poll(1000).settings_found
    assert asked.memory.settings.unknown.keys() == {"broker version", "feature"}


def test_a_broker_that_is_silent_keeps_its_settings_and_one_that_is_gone_does_not(
    asked: Reads,
) -> None:
    two = {1: {"a": ("1", True)}, 2: {"a": ("2", True)}}
    asked.memory.brokers[2] = Broker(broker_id=2, host="b", port=9092)
    asked.answers["read_broker_configs"] = two
    _ = asked.poll(1000).settings_found
    asked.answers["read_broker_configs"] = {1: two[1], 2: NoAnswerError("silent")}
    assert asked.poll(1300).settings_found["broker configuration"].keys() == {"1", "2"}
    del asked.memory.brokers[2]
    assert asked.poll(1600).settings_found["broker configuration"].keys() == {"1"}


def test_registrations_are_read_when_a_broker_comes_or_goes(asked: Reads) -> None:
    assert asked.poll(1000).registrations == {1: False, 2: True}
    assert asked.poll(1001).registrations == {1: False, 2: True}
    assert asked.asked == []
    _ = asked.poll(1002, alive=(1, 2)).registrations
    assert asked.asked == ["read_registrations"]


def test_why_registrations_are_unknown_is_said_at_every_poll(asked: Reads) -> None:
    asked.answers["read_registrations"] = RefusedError("not permitted")
    for at in (1000, 1001):
        with pytest.raises(RefusedError):
            _ = asked.poll(at).registrations
    assert asked.asked == []
