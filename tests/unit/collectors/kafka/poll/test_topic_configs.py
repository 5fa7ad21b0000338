"""Configurations of topics, which are read in the course of polls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from collectors.kafka.cluster.metadata import NO_CONFIG_RIGHT, TopicConfig
from collectors.kafka.poll import topic_configs
from collectors.kafka.poll.topic_configs import CONFIG_WAITS, TopicConfigs, config_problems
from collectors.kafka.protocol.broker_requests import Deadline
from collectors.kafka.protocol.poll_context import PollContext

CONFIG: TopicConfig = {"retention.ms": ("1000", True)}


class Brokers:
    """Answer for two topics at a time, and one request a poll."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.brokers: list[int] = []
        self.refused: dict[str, str] = {}
        monkeypatch.setattr(topic_configs, "CONFIGS_A_REQUEST", 2)
        monkeypatch.setattr(topic_configs, "_CONFIGS_SECONDS", -1.0)
        monkeypatch.setattr(topic_configs, "read_topic_configs", self._read)

    def _read(self, _wire: Any, asked: Mapping[int, Sequence[str]], *_: Any) -> Mapping[str, Any]:
        topics = [topic for part in asked.values() for topic in part]
        self.asked += topics
        self.brokers = list(asked)
        return {topic: self.refused.get(topic, CONFIG) for topic in topics}

    def poll(
        self, known: TopicConfigs, tick: float, topics: list[str], alive: Sequence[int] = (1,)
    ) -> Mapping[str, TopicConfig | str]:
        self.asked.clear()
        wire: Any = SimpleNamespace()
        now = datetime(2026, 11, 20, tzinfo=UTC)
        context = PollContext(wire=wire, deadline=Deadline(10, 10), now=now, tick=tick)
        return known.read(context, topics, alive)


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    return Brokers(monkeypatch)


def test_topics_that_keep_failing_do_not_hold_up_the_others(brokers: Brokers) -> None:
    brokers.refused = {"a": "the broker failed", "b": "the broker failed"}
    known, topics = TopicConfigs(), ["a", "b", "c", "d"]
    first = brokers.poll(known, 1000.0, topics)
    assert brokers.asked == ["a", "b"]
    assert first["c"] == CONFIG_WAITS
    second = brokers.poll(known, 1015.0, topics)
    assert brokers.asked == ["c", "d"]
    assert second["c"] == second["d"] == CONFIG
    brokers.poll(known, 1030.0, topics)
    assert brokers.asked == ["a", "b"], "and they are asked for again"


def test_several_brokers_answer_at_the_same_time(brokers: Brokers) -> None:
    known, topics = TopicConfigs(), list("abcdefghijkl")
    found = brokers.poll(known, 1000.0, topics, alive=(7, 8, 9))
    assert brokers.brokers == [7, 8, 9]
    assert [topic for topic, config in found.items() if config == CONFIG] == list("abcdef")
    brokers.poll(known, 1015.0, topics, alive=(1, 2, 3, 4, 5, 6))
    assert brokers.asked == list("ghijkl"), "three requests suffice for the six that are left"
    brokers.poll(TopicConfigs(), 1000.0, topics, alive=(1, 2, 3, 4, 5, 6))
    assert len(brokers.brokers) == 4, "answers are large: not all brokers at once"


def test_without_a_broker_nothing_is_asked(brokers: Brokers) -> None:
    assert brokers.poll(TopicConfigs(), 1000.0, ["a"], alive=()) == {"a": CONFIG_WAITS}


def test_a_refusal_lasts_and_what_was_known_stays(brokers: Brokers) -> None:
    known = TopicConfigs()
    brokers.refused = {"a": NO_CONFIG_RIGHT}
    assert brokers.poll(known, 1000.0, ["a", "b"]) == {"a": NO_CONFIG_RIGHT, "b": CONFIG}
    brokers.poll(known, 1299.0, ["a", "b"])
    assert brokers.asked == []
    brokers.refused["b"] = "the broker failed"
    found = brokers.poll(known, 1300.0, ["a", "b"])
    assert found["b"] == CONFIG
    assert config_problems(found) == [
        f"the configuration of 1 of 2 topics is unknown: {NO_CONFIG_RIGHT}"
    ]
