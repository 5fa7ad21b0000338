"""A check of a cluster that is far away: nobody waits for the next poll."""

from __future__ import annotations

import time
from typing import Any

import pytest

from bench.support import synthetic_cluster as cluster
from collectors.kafka.poll import topic_configs
from collectors.kafka.protocol.transport import connector
from collectors.kafka.source import KafkaSource
from collectors.source.shared_facts import SharedFacts
from config.settings import ClusterSettings

SLOW_SECONDS = 1.0


def test_topics_whose_turn_comes_later_lack_no_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_configs, "_CONFIGS_SECONDS", 0.0)
    monkeypatch.setattr(topic_configs, "_MOST_AT_ONCE", 1)
    with cluster.synthetic_cluster(cluster.Size(topics=600, groups=3)) as servers:
        settings = ClusterSettings(name="many", bootstrap_servers=servers)
        source = KafkaSource(settings, 60.0, SharedFacts())
        try:
            (found,) = (each for each in source.check() if "configuration (" in each.feature)
        finally:
            source.close()
    assert (found.works, found.grants) == (True, ())
    assert found.detail == "500 of 600 topics, the others in later polls"


def test_what_takes_longer_than_a_request_of_a_poll_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    look_up = connector.addresses

    def slowly(*arguments: Any, **options: Any) -> Any:
        time.sleep(SLOW_SECONDS)  # as a look-up whose first server is dead
        return look_up(*arguments, **options)

    monkeypatch.setattr(connector, "addresses", slowly)
    with cluster.synthetic_cluster(cluster.Size(topics=10, groups=3)) as servers:
        settings = ClusterSettings(name="far", bootstrap_servers=servers)
        source = KafkaSource(settings, 2.0, SharedFacts())  # a request of a poll has 0.6 s
        try:
            found = source.check()
        finally:
            source.close()
    assert [each.feature for each in found if each.required and not each.works] == []
    assert [each.detail for each in found if "in time" in each.detail] == []
