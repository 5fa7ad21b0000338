"""The configurations of topics, the largest of all answers, read in the course of polls."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence

from collectors.kafka.cluster.metadata import (
    CONFIGS_A_REQUEST,
    NO_CONFIG_RIGHT,
    TopicConfig,
    read_topic_configs,
)
from collectors.kafka.protocol.poll_context import PollContext
from collectors.source import due
from collectors.source.due import Due

_CONFIGS_SECONDS = 2.0
_MOST_AT_ONCE = 4  # answers, each of megabytes

CONFIG_WAITS = "waits for its turn: many are read in the course of several polls"
"""Why the configuration of a topic is unknown in the first polls of many topics."""


class TopicConfigs:
    """What is known of the topics' configurations."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[str, TopicConfig | str] = {}
        self._due = Due()

    def read(
        self, context: PollContext, topics: Collection[str], brokers: Sequence[int]
    ) -> Mapping[str, TopicConfig | str]:
        """Return each topic's configuration, or why it is unknown.

        Each is read anew every five minutes, as far as two seconds suffice; the others are left to
        the next polls. One that could not be read is asked for again at the next poll, behind those
        that were not asked for yet.

        Args:
            context: How the brokers are asked.
            topics: The topics to know; others are forgotten.
            brokers: The brokers that are alive, of which several answer at the same time.
        """
        self._due.keep_only(set(topics))
        self._known = {topic: self._known.get(topic, CONFIG_WAITS) for topic in topics}
        wanted = self._due.in_turn(topics, context.tick)
        if not wanted:
            return self._known
        distinct = {id(each): each for each in self._known.values() if not isinstance(each, str)}
        same = {tuple(config.items()): config for config in distinct.values()}
        until = time.monotonic() + _CONFIGS_SECONDS
        parts = [
            wanted[start : start + CONFIGS_A_REQUEST]
            for start in range(0, len(wanted), CONFIGS_A_REQUEST)
        ]
        at_once = max(1, min(len(brokers), _MOST_AT_ONCE))
        for start in range(0, len(parts), at_once):
            if start and time.monotonic() > until:
                break
            asked = dict(zip(brokers, parts[start : start + at_once], strict=False))
            found = read_topic_configs(context.wire, asked, context.deadline, same)
            self._take([topic for part in asked.values() for topic in part], found, context.tick)
        return self._known

    def _take(
        self, topics: Collection[str], found: Mapping[str, TopicConfig | str], tick: float
    ) -> None:
        for topic in topics:
            config = found.get(topic, "the broker did not answer for it")
            # Refusals last a while.
            failed = isinstance(config, str) and config != NO_CONFIG_RIGHT
            again = 0.0 if failed else due.CONFIGS_EVERY_SECONDS
            self._due.was_tried(topic, tick, again_after=again)
            # What was known stays known while it cannot be asked for again.
            if not isinstance(config, str) or isinstance(self._known[topic], str):
                self._known[topic] = config


def config_problems(configs: Mapping[str, TopicConfig | str]) -> list[str]:
    """Return what to say about configurations that are unknown; nothing where all are known."""
    unknown = [config for config in configs.values() if isinstance(config, str)]
    if not unknown:
        return []
    reasons = "; ".join(sorted(set(unknown)))
    return [f"the configuration of {len(unknown)} of {len(configs)} topics is unknown: {reasons}"]
