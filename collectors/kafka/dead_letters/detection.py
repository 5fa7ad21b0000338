"""Which topics hold dead letters, where they come from, and what their headers say: pure rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from collectors.kafka.cluster.kinds import topic_kind
from config.patterns import matches_part
from config.settings import DeadLetterSettings

MARKING_CONFIG = "errors.deadletterqueue.group.enable"
"""Topic setting by which Kafka (KIP-1191) marks a dead-letter topic of share groups."""

# Frameworks' conventions; the last header of a list is the more general one.
_EXCEPTION_HEADERS = (
    "kafka_dlt-exception-cause-fqcn",  # Spring: the cause, where the exception only wraps it
    "kafka_dlt-key-exception-cause-fqcn",
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
    "__dlq.errors.topic",  # share groups (KIP-1191)
    "__connect.errors.topic",
    "__streams.errors.topic",
    "dead-letter-topic",
)
_TIME_HEADERS = (
    "retry_topic-original-timestamp",  # Spring: of the first failure, whatever came after it
    "kafka_dlt-original-timestamp",
    "kafka_original-timestamp",
    "delayed-retry-original-timestamp",  # SmallRye
)
# Whether the writer gives its record the timestamp of the one that failed.
_COPIES_TIMESTAMP = {
    "__connect.errors.": True,
    "__streams.errors.": True,
    "kafka_dlt-": False,
    "kafka_original-": False,
    "__dlq.errors.": False,
    "dead-letter-": False,
}
# A share group knows no exception. The brokers' own two texts say why; any other is not taken.
_SHARE_MESSAGE = "__dlq.errors.message"
_SHARE_REASONS = {
    "Offset rejected by client.": "rejected by the consumer",
    "Offset delivery count exceeded the threshold.": "delivery limit exceeded",
}
_SHARE_DELIVERIES = "__dlq.errors.delivery.count"

_LENGTH = 256
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_LATEST_MS = 253_402_300_799_999  # the year 9999
_MARKERS = re.compile(
    r"(?i)^(dead-letter-topic-|(dlq|dlt|dead[._-]?letters?|errors?|parking[._-]?lot|poison)[._-])"
    r"|([._-](dlq|dlt|dead[._-]?letters?|errors?|parking[._-]?lot|poison))$"
)
_RETRY = re.compile(r"(?i)[._-]retry([._-]\d+)?$")
_NAMED_KINDS = ("application", "mirror")


HeaderValue = bytes | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterHeaders:
    """What a dead letter's headers say.

    Attributes:
        reason: The exception's class name, or what a share group's broker says; None where no
            known header tells.
        origin: The topic where the record failed, or None.
        copies_timestamp: Whether the record's timestamp is that of the record that failed; None
            where the headers do not tell who wrote it.
        event_at: The failed record's own timestamp in seconds since 1970 where a header tells.
    """

    reason: str | None
    origin: str | None
    copies_timestamp: bool | None = None
    event_at: float | None = None


def find_dead_letters(
    topics: Collection[str],
    settings: DeadLetterSettings,
    marked: Collection[str],
    of_sinks: Collection[str],
    internal: Collection[str],
) -> dict[str, str]:
    """Find the dead-letter topics.

    Returns:
        Topic: how it was found: ``configuration``, ``topic config``, ``connect config`` or
        ``name``. A name counts for topics of applications only: a retry topic or the changelog
        of a store of errors holds no dead letters.
    """
    declared = {*settings.topics, *settings.redrive_groups, *settings.origins}
    found = {}
    for topic in topics:
        if topic in declared:
            found[topic] = "configuration"
        elif any(matches_part(pattern, topic) for pattern in settings.ignore):
            continue
        elif topic in marked:
            found[topic] = "topic config"
        elif topic in of_sinks:
            found[topic] = "connect config"
        elif any(matches_part(pattern, topic) for pattern in settings.patterns) and (
            topic_kind(topic, internal=topic in internal, dead_letter=False, mirrors=())
            in _NAMED_KINDS
        ):
            found[topic] = "name"
    return found


def origin_by_name(topic: str, topics: Collection[str]) -> str | None:
    """Return the topic that a dead-letter topic's name is made from, if there is such a topic."""
    rest = _MARKERS.sub("", topic, count=1)
    for candidate in (rest, _RETRY.sub("", rest)):
        if candidate != topic and candidate in topics:
            return candidate
    return None


def read_headers(headers: Iterable[tuple[str, HeaderValue]]) -> DeadLetterHeaders:
    """Understand the headers of a dead letter: Spring, Connect, Streams, SmallRye, share groups.

    Only class and topic names and times are taken, names cut to 256 characters; messages and stack
    traces may hold what was in the record. A header that is broken is as good as absent.
    """
    by_name: dict[str, list[HeaderValue]] = {}
    for name, value in headers:
        by_name.setdefault(name, []).insert(0, value)  # the newest of several counts
    origin = _first(by_name, _ORIGIN_HEADERS, _text)
    milliseconds = _first(by_name, _TIME_HEADERS, _milliseconds)
    copies = {
        copied
        for prefix, copied in _COPIES_TIMESTAMP.items()
        if any(name.startswith(prefix) for name in by_name)
    }
    return DeadLetterHeaders(
        reason=_first(by_name, _EXCEPTION_HEADERS, _text) or _share_reason(by_name),
        origin=origin if origin and _TOPIC.fullmatch(origin) else None,
        # Where it went through several hands, nobody knows whose timestamp it is.
        copies_timestamp=copies.pop() if len(copies) == 1 else None,
        event_at=None if milliseconds is None else milliseconds / 1000,
    )


def _share_reason(headers: Mapping[str, Sequence[HeaderValue]]) -> str | None:
    message = _first(headers, (_SHARE_MESSAGE,), _text)
    if message in _SHARE_REASONS:
        return _SHARE_REASONS[message]
    count = _first(headers, (_SHARE_DELIVERIES,), _text)
    return f"delivery count {int(count)}" if count and re.fullmatch(r"[0-9]{1,5}", count) else None


T = TypeVar("T")


def _first(
    headers: Mapping[str, Sequence[HeaderValue]],
    names: Iterable[str],
    understand: Callable[[HeaderValue], T | None],
) -> T | None:
    """Return the first value that can be understood."""
    for name in names:
        for value in headers.get(name, ()):
            understood = understand(value)
            if understood is not None:
                return understood
    return None


def _text(value: HeaderValue) -> str | None:
    """Return a text of one line; bytes that are none are no name of a class or topic."""
    if isinstance(value, bytes):
        try:
            value = value.decode("utf-8")
        except UnicodeDecodeError:
            return None
    return value[:_LENGTH] if value and value.isprintable() else None


def _milliseconds(value: HeaderValue) -> int | None:
    """Return a time since 1970: Spring's 64 bits or BigInteger, big-endian, or digits as text."""
    if isinstance(value, bytes) and 0 < len(value) <= 8:
        number = int.from_bytes(value, "big", signed=True)
    else:
        text = _text(value)
        if text is None or not re.fullmatch(r"[0-9]{1,15}", text):
            return None
        number = int(text)
    return number if 0 < number <= _LATEST_MS else None
