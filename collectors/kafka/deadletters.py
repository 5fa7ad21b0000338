"""Which topics hold dead letters, where they come from, and what their headers say: pure rules."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from config.settings import DeadLetterSettings

MARKING_CONFIG = "errors.deadletterqueue.group.enable"
"""Topic setting by which Kafka (KIP-1191) marks a dead-letter topic of share groups."""

# Frameworks' conventions; the last header of a list is the more general one.
_EXCEPTION_HEADERS = (
    "kafka_dlt-exception-cause-fqcn",  # Spring: the cause, where the exception only wraps it
    "kafka_dlt-exception-fqcn",
    "kafka_dlt-key-exception-fqcn",
    "kafka_exception-cause-fqcn",  # Spring's retry topics
    "kafka_exception-fqcn",
    "__connect.errors.exception.class.name",
    "__streams.errors.exception",
    "dead-letter-exception-class-name",  # SmallRye
    "dead-letter-cause-class-name",
)
_ORIGIN_HEADERS = (
    "kafka_dlt-original-topic",
    "kafka_original-topic",
    "__connect.errors.topic",
    "__streams.errors.topic",
    "__dlq.errors.topic",  # share groups (KIP-1191)
    "dead-letter-topic",
)
_LENGTH = 256
_MARKERS = re.compile(
    r"(?i)^(dead-letter-topic-|(dlq|dlt|dead[._-]?letters?|errors?|parking[._-]?lot|poison)[._-])"
    r"|([._-](dlq|dlt|dead[._-]?letters?|errors?|parking[._-]?lot|poison))$"
)
_RETRY = re.compile(r"(?i)[._-]retry([._-]\d+)?$")


@dataclass(frozen=True, slots=True)
class Reason:
    """What a dead letter's headers say.

    Attributes:
        exception: The exception's class name, or None where no known header tells.
        origin: The topic where the record failed, or None.
    """

    exception: str | None
    origin: str | None


def find_dead_letters(
    topics: Collection[str],
    settings: DeadLetterSettings,
    marked: Collection[str],
    internal: Collection[str],
) -> dict[str, str]:
    """Find the dead-letter topics.

    Args:
        topics: All topics.
        settings: What the operator declared.
        marked: Topics whose own configuration marks them.
        internal: Topics that the cluster calls internal: never dead letters by their name.

    Returns:
        Topic: how it was found: ``configuration``, ``topic config`` or ``name``.
    """
    declared = {*settings.topics, *settings.redrive_groups, *settings.origins}
    patterns = [re.compile(pattern) for pattern in settings.patterns]
    ignored = [re.compile(pattern) for pattern in settings.ignore]
    found = {}
    for topic in topics:
        if topic in declared:
            found[topic] = "configuration"
        elif any(pattern.search(topic) for pattern in ignored):
            continue
        elif topic in marked:
            found[topic] = "topic config"
        elif topic not in internal and any(pattern.search(topic) for pattern in patterns):
            found[topic] = "name"
    return found


def origin_by_name(topic: str, topics: Collection[str]) -> str | None:
    """Return the topic that a dead-letter topic's name is made from, if there is such a topic."""
    rest = _MARKERS.sub("", topic, count=1)
    for candidate in (rest, _RETRY.sub("", rest)):
        if candidate != topic and candidate in topics:
            return candidate
    return None


def read_headers(headers: Sequence[tuple[str, bytes | str | None]]) -> Reason:
    """Understand the headers of a dead letter: Spring, Connect, Streams, SmallRye, share groups.

    Only class and topic names are taken, cut to 256 characters; messages and stack traces may hold
    what was in the record.
    """
    by_name = {name: value for name, value in headers if value}
    return Reason(
        exception=_first(by_name, _EXCEPTION_HEADERS), origin=_first(by_name, _ORIGIN_HEADERS)
    )


def _first(headers: Mapping[str, bytes | str | None], names: Sequence[str]) -> str | None:
    for name in names:
        value = headers.get(name)
        if isinstance(value, bytes):
            # Bytes that are no text are no class or topic name.
            try:
                value = value.decode("utf-8")
            except UnicodeDecodeError:
                continue
        if value:
            return value[:_LENGTH]
    return None
