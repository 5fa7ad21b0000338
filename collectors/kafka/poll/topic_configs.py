"""Reading the configurations of topics, the largest of all answers, in the course of polls."""

from __future__ import annotations

import time
from collections.abc import Collection

from collectors.kafka.cluster.metadata import CONFIGS_A_REQUEST, TopicConfig, read_topic_configs
from collectors.kafka.poll import due
from collectors.kafka.poll.state import Memory
from collectors.kafka.protocol.broker_requests import Deadline, Wire

_CONFIGS_SECONDS = 2.0

CONFIG_WAITS = "waits for its turn: many are read in the course of several polls"
"""Why the configuration of a topic is unknown in the first polls of many topics."""


def read_due_configs(
    wire: Wire, memory: Memory, topics: Collection[str], deadline: Deadline, tick: float
) -> None:
    """Bring ``memory.configs`` up to date, as far as two seconds suffice.

    Args:
        wire: The way to the brokers.
        memory: What earlier polls read, and what is due.
        topics: The topics to know; others are forgotten.
        deadline: That of the poll.
        tick: When the poll began, in monotonic seconds.
    """
    if memory.due.is_due(due.TOPIC_CONFIGS, tick):
        memory.configs_due = set(topics)
        memory.due.was_read(due.TOPIC_CONFIGS, tick, again_after=due.CONFIGS_EVERY_SECONDS)
    memory.configs = {topic: memory.configs.get(topic, CONFIG_WAITS) for topic in topics}
    unknown = [topic for topic in topics if _worth_asking(memory.configs[topic])]
    wanted = [*unknown, *sorted(memory.configs_due.intersection(topics).difference(unknown))]
    until = time.monotonic() + _CONFIGS_SECONDS
    for start in range(0, len(wanted), CONFIGS_A_REQUEST):
        if start and time.monotonic() > until:
            break
        chunk = wanted[start : start + CONFIGS_A_REQUEST]
        memory.configs_due.difference_update(chunk)
        known = {id(each): each for each in memory.configs.values() if not isinstance(each, str)}
        found = read_topic_configs(wire, chunk, deadline, known.values())
        for topic, config in found.items():
            # What was known stays known while it cannot be asked for again.
            if not (isinstance(config, str) and is_known(memory.configs.get(topic))):
                memory.configs[topic] = config


def is_known(found: object) -> bool:
    """Return whether something was read: reasons why it was not are texts."""
    return found is not None and not isinstance(found, str)


def _worth_asking(known: TopicConfig | str) -> bool:
    """Return whether a configuration failed to be read; refusals last a while."""
    return isinstance(known, str) and not known.startswith("not permitted")
