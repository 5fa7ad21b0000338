"""What Connect's answers say, as values: nothing in them is trusted to be there or of its type.

Of a configuration only what is listed here is taken; it may hold secrets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collectors.errors import ProtocolError
from collectors.source.answer import (
    LARGEST_INT,
    LARGEST_LONG,
    LONGEST_TEXT,
    Fields,
    Odd,
    objects,
)
from collectors.source.redaction import redact

MIRROR_SOURCE = "org.apache.kafka.connect.mirror.MirrorSourceConnector"

NO_STATUS = "it has no status: it was only just created, or Connect's status topic lost it"
NO_CONFIGURATION = "Connect did not tell its configuration"

_CLASS = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+(?=:|\s*$)")
_CAUSE = "Caused by: "
# The source connectors' classes by which a kind is known: what a class's name begins with.
_KINDS = {
    "org.apache.kafka.connect.mirror.": "mirror",
    "io.debezium.": "debezium",
}
PLAIN = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task of a connector.

    Attributes:
        state: UNASSIGNED, RUNNING, PAUSED, FAILED, RESTARTING; None where it has no status.
        cause_class: The exception at the bottom of it, where that is another one.
        error: The first line of its trace, at most 256 characters, without secrets.
    """

    task: int
    state: str | None
    worker: str | None = None
    error_class: str | None = None
    cause_class: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """A connector.

    Attributes:
        type: ``source`` or ``sink``; None where Connect does not tell.
        kind: ``mirror``, ``debezium`` or ``plain``; None while its class is unknown.
        error: The first line of its own trace, at most 256 characters, without secrets.
        tasks_expected: tasks.max: as many tasks as it may be split into.
        topics: What a sink reads; None where a regular expression names it.
        dead_letter_topic: Of a sink; None where it has no such topic.
        dead_letter_headers: Whether a sink's dead letters say what happened.
        errors_tolerance: ``none``: the first failure ends the task; ``all``: failures are passed
            over.
        source_alias: The cluster that MirrorMaker 2 copies from.
    """

    name: str
    type: str | None = None
    kind: str | None = None
    class_name: str | None = None
    state: str | None = None
    worker: str | None = None
    error: str | None = None
    tasks_expected: int | None = None
    tasks: tuple[Task, ...] | None = None
    topics: Sequence[str] | None = None
    group: str | None = None
    dead_letter_topic: str | None = None
    dead_letter_headers: bool | None = None
    errors_tolerance: str | None = None
    source_alias: str | None = None
    unknown_reason: str | None = None

    def count(self, state: str) -> int | None:
        """Return how many of its tasks are in a state; None where its tasks are unknown.

        A task that was not started yet has no status and is not counted.
        """
        if self.tasks is None:
            return None
        return sum(task.state == state for task in self.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """How far MirrorMaker 2 has copied a partition."""

    alias: str
    topic: str
    partition: int
    replicated: int | None  # the next offset that it will copy; None where Connect reported none


def read_names(answer: Any, odd: Odd) -> list[str]:
    """Understand ``/connectors``."""
    if not isinstance(answer, list):
        raise ProtocolError("/connectors did not answer a list: is this url Kafka Connect's?")
    names = [name for name in answer if isinstance(name, str)]
    if len(names) < len(answer):
        odd.note("connectors")
    return list(dict.fromkeys(names))


def read_connectors(answer: Any, odd: Odd) -> list[Connector]:
    """Understand ``/connectors?expand=status&expand=info``."""
    if not isinstance(answer, dict):
        raise ProtocolError(
            "/connectors?expand=… did not answer an object: is this url Kafka Connect's (from 2.3)?"
        )
    return [_connector(name, Fields(entry, odd, name)) for name, entry in answer.items()]


def read_positions(answer: Any, alias: str | None, odd: Odd) -> list[Position]:
    """Understand ``/connectors/NAME/offsets`` of a MirrorSourceConnector.

    What Connect keeps is the offset of the last record that was copied.

    Args:
        answer: The JSON.
        alias: The source cluster's, from the connector's configuration; the answer's comes first.
        odd: Counts what is left out.
    """
    entries = answer.get("offsets") if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        raise ProtocolError("its offsets came in a form that is not known")
    found: dict[tuple[str, int], Position] = {}
    for entry in objects(entries, odd, "offsets"):
        where = entry.fields("partition")
        cluster = where.text("cluster") or alias
        topic = where.name("topic")
        partition = where.whole("partition", largest=LARGEST_INT)
        if cluster is None or topic is None or partition is None or (topic, partition) in found:
            entry.note("partition")
            continue
        last = entry.fields("offset").whole("offset", largest=LARGEST_LONG - 1)
        found[topic, partition] = Position(
            alias=cluster,
            topic=topic,
            partition=partition,
            replicated=None if last is None else last + 1,
        )
    return list(found.values())


def _connector(name: str, entry: Fields) -> Connector:
    status, info = entry.fields("status"), entry.fields("info")
    configured = info.fields("config")
    config = {
        key: str(value) for key, value in configured.items() if isinstance(value, str | int | float)
    }
    own = status.fields("connector")
    type_ = _lower(status.text("type")) or _lower(info.text("type"))
    class_name = configured.text("connector.class")
    is_known = any(True for _ in own.items())
    reasons = [] if is_known else [NO_STATUS]
    reasons += [] if config else [NO_CONFIGURATION]
    expected = configured.whole("tasks.max", largest=LARGEST_INT)
    return Connector(
        name=name,
        type=type_ if type_ in ("source", "sink") else None,
        kind=None if class_name is None else connector_kind(class_name),
        class_name=class_name,
        state=_upper(own.text("state")),
        worker=own.text("worker_id"),
        error=_first_line(_trace(own, config)),
        tasks_expected=1 if config and "tasks.max" not in configured else expected,
        tasks=_tasks(status, info, config),
        unknown_reason="; ".join(reasons) or None,
        source_alias=configured.text("source.cluster.alias"),
        **(_sink(name, configured) if type_ == "sink" and config else {}),
    )


def connector_kind(class_name: str) -> str:
    """Name a connector's kind by its class."""
    for beginning, kind in _KINDS.items():
        if class_name.startswith(beginning):
            return kind
    return PLAIN


def _sink(name: str, config: Fields) -> dict[str, Any]:
    """Return what only a sink has. The defaults are Connect's own."""
    topics = [topic.strip() for topic in (config.name("topics") or "").split(",")]
    return {
        "topics": [topic for topic in topics if topic] or None,
        "group": config.text("consumer.override.group.id") or f"connect-{name}",
        "dead_letter_topic": config.text("errors.deadletterqueue.topic.name"),
        "dead_letter_headers": _lower(config.text("errors.deadletterqueue.context.headers.enable"))
        == "true",
        "errors_tolerance": _lower(config.text("errors.tolerance")) or "none",
    }


def _tasks(status: Fields, info: Fields, config: Mapping[str, str]) -> tuple[Task, ...] | None:
    """Return the tasks by their ids: those with a status, and those that only are configured."""
    configured, running = info.objects("tasks"), status.objects("tasks")
    if configured is None and running is None:
        return None
    found: dict[int, Task] = {}
    for entry in configured or ():
        number = entry.whole("task", largest=LARGEST_INT)
        if number is not None:
            found[number] = Task(task=number, state=None)
    for entry in running or ():
        number = entry.whole("id", largest=LARGEST_INT)
        if number is None:
            continue
        trace = _trace(entry, config)
        error_class, cause_class = _exceptions(trace)
        found[number] = Task(
            task=number,
            state=_upper(entry.text("state")),
            worker=entry.text("worker_id"),
            error_class=error_class,
            cause_class=cause_class,
            error=_first_line(trace),
        )
    return tuple(found[number] for number in sorted(found))


def _trace(entry: Fields, config: Mapping[str, str]) -> str | None:
    """Return a trace without secrets: before it is cut, or half of one might stay."""
    trace = (entry.name("trace") or "").strip()
    return redact(trace, config) if trace else None


def _first_line(trace: str | None) -> str | None:
    return None if trace is None else trace.splitlines()[0].strip()[:LONGEST_TEXT] or None


def _exceptions(trace: str | None) -> tuple[str | None, str | None]:
    """Return the class of a trace's exception, and of its last cause where that differs.

    Only the class of a cause is taken, since its message may quote the record that failed.
    """
    if trace is None:
        return None, None
    lines = trace.splitlines()
    causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    first = _class_of(lines[0])
    cause = _class_of(causes[-1]) if causes else None
    return first, cause if cause != first else None


def _class_of(line: str) -> str | None:
    match = _CLASS.match(line.strip())
    return match[0][:LONGEST_TEXT] if match else None


def _upper(text: str | None) -> str | None:
    return None if text is None else text.upper()


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()
