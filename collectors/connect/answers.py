"""What Connect's answers say, as values: nothing in them is trusted to be there or of its type.

Of a configuration only what is listed here is taken; it may hold secrets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from collectors.connect.redaction import redact
from collectors.errors import ProtocolError

MIRROR_SOURCE = "org.apache.kafka.connect.mirror.MirrorSourceConnector"

NO_STATUS = "it has no status: it was only just created, or Connect's status topic lost it"
NO_CONFIGURATION = "Connect did not tell its configuration"

_LENGTH = 256
_LARGEST_INT, _LARGEST_LONG = 2**31 - 1, 2**63 - 1
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Position:
    """How far MirrorMaker 2 has copied a partition.

    Attributes:
        replicated: The next offset that it will copy; None where Connect reported none.
    """

    alias: str
    topic: str
    partition: int
    replicated: int | None


def read_names(answer: Any) -> list[str]:
    """Understand ``/connectors``."""
    if not isinstance(answer, list):
        raise ProtocolError("/connectors did not answer a list: is this url Kafka Connect's?")
    return [name for name in map(_text, answer) if name is not None]


def read_connectors(answer: Any) -> list[Connector]:
    """Understand ``/connectors?expand=status&expand=info``."""
    if not isinstance(answer, dict):
        raise ProtocolError(
            "/connectors?expand=… did not answer an object: is this url Kafka Connect's (from 2.3)?"
        )
    return [_connector(name, _object(entry)) for name, entry in answer.items()]


def read_positions(answer: Any, alias: str | None) -> list[Position]:
    """Understand ``/connectors/NAME/offsets`` of a MirrorSourceConnector.

    What Connect keeps is the offset of the last record that was copied.

    Args:
        answer: The JSON.
        alias: The source cluster's, from the connector's configuration; the answer's comes first.
    """
    entries = _object(answer).get("offsets")
    if not isinstance(entries, list):
        raise ProtocolError("its offsets came in a form that is not known")
    found = []
    for entry in map(_object, entries):
        where = _object(entry.get("partition"))
        cluster = _text(where.get("cluster")) or alias
        topic = _text(where.get("topic"))
        partition = _number(where.get("partition"), _LARGEST_INT)
        if cluster is None or topic is None or partition is None:
            continue  # not a partition: other connectors keep other things
        last = _number(_object(entry.get("offset")).get("offset"), _LARGEST_LONG - 1)
        found.append(Position(cluster, topic, partition, None if last is None else last + 1))
    return found


def _connector(name: str, entry: Mapping[str, Any]) -> Connector:
    status, info = _object(entry.get("status")), _object(entry.get("info"))
    config = {
        key: str(value)
        for key, value in _object(info.get("config")).items()
        if isinstance(value, str | int | float)
    }
    own = _object(status.get("connector"))
    type_ = _lower(status.get("type")) or _lower(info.get("type"))
    class_name = _text(config.get("connector.class"))
    reasons = [] if own else [NO_STATUS]
    reasons += [] if config else [NO_CONFIGURATION]
    return Connector(
        name=_text(name) or "",
        type=type_ if type_ in ("source", "sink") else None,
        kind=None if class_name is None else connector_kind(class_name),
        class_name=class_name,
        state=_upper(own.get("state")),
        worker=_text(own.get("worker_id")),
        error=_first_line(_trace(own, config)),
        tasks_expected=_number(config.get("tasks.max", "1"), _LARGEST_INT) if config else None,
        tasks=_tasks(status, info, config),
        unknown_reason="; ".join(reasons) or None,
        source_alias=_text(config.get("source.cluster.alias")),
        **(_sink(name, config) if type_ == "sink" and config else {}),
    )


def connector_kind(class_name: str) -> str:
    """Name a connector's kind by its class."""
    for beginning, kind in _KINDS.items():
        if class_name.startswith(beginning):
            return kind
    return PLAIN


def _sink(name: str, config: Mapping[str, str]) -> dict[str, Any]:
    """Return what only a sink has. The defaults are Connect's own."""
    topics = [topic.strip() for topic in config.get("topics", "").split(",")]
    return {
        "topics": [topic for topic in topics if topic] or None,
        "group": _text(config.get("consumer.override.group.id")) or f"connect-{name}",
        "dead_letter_topic": _text(config.get("errors.deadletterqueue.topic.name")),
        "dead_letter_headers": _lower(config.get("errors.deadletterqueue.context.headers.enable"))
        == "true",
        "errors_tolerance": _lower(config.get("errors.tolerance")) or "none",
    }


def _tasks(
    status: Mapping[str, Any], info: Mapping[str, Any], config: Mapping[str, str]
) -> tuple[Task, ...] | None:
    """Return the tasks by their ids: those with a status, and those that only are configured."""
    found: dict[int, Task] = {}
    if not isinstance(status.get("tasks"), list) and not isinstance(info.get("tasks"), list):
        return None
    for entry in _objects(info.get("tasks")):
        number = _number(entry.get("task"), _LARGEST_INT)
        if number is not None:
            found[number] = Task(task=number, state=None)
    for entry in _objects(status.get("tasks")):
        number = _number(entry.get("id"), _LARGEST_INT)
        if number is None:
            continue
        trace = _trace(entry, config)
        error_class, cause_class = _exceptions(trace)
        found[number] = Task(
            task=number,
            state=_upper(entry.get("state")),
            worker=_text(entry.get("worker_id")),
            error_class=error_class,
            cause_class=cause_class,
            error=_first_line(trace),
        )
    return tuple(found[number] for number in sorted(found))


def _trace(entry: Mapping[str, Any], config: Mapping[str, str]) -> str | None:
    """Return a trace without secrets: before it is cut, or half of one might stay."""
    trace = entry.get("trace")
    if not isinstance(trace, str) or not trace.strip():
        return None
    return redact(trace.strip(), config)


def _first_line(trace: str | None) -> str | None:
    return None if trace is None else _text(trace.splitlines()[0])


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
    return match[0][:_LENGTH] if match else None


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    yield from map(_object, value if isinstance(value, list) else [])


def _text(value: Any) -> str | None:
    """Return a text that can be stored, at most 256 characters; None for anything else."""
    if not isinstance(value, str):
        return None
    # JSON may hold halves of surrogate pairs, which no table takes.
    clean = value.strip().encode("utf-8", "replace").decode("utf-8")
    return clean[:_LENGTH] or None


def _upper(value: Any) -> str | None:
    text = _text(value)
    return None if text is None else text.upper()


def _lower(value: Any) -> str | None:
    text = _text(value)
    return None if text is None else text.lower()


def _number(value: Any, largest: int) -> int | None:
    """Return a whole number from 0 on that its column can hold, or None."""
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= largest else None
