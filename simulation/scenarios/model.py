"""What an alert scenario is: what collectors would have seen, and what was really going on.

A scenario is also a JSON file::

    {"name": "poison partition", "poll_seconds": 15, "group": "billing",
     "partitions": [{"topic": "orders", "partition": 0, "samples": [
        {"t": 0, "log_start": 0, "log_end": 100, "committed": 90,
         "members": 3, "assigned": true, "state": "stable"}]}],
     "truth": [{"from": 600, "to": 1800, "status": "STALLED", "should_alert": true}]}

``t`` is seconds from the beginning. Any other value of a sample may be null or missing: it could
not be read, or nothing was ever committed. Polls may be missing. ``should_alert`` is null where it
is right to notify and right not to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


class ScenarioError(ValueError):
    """A scenario is not of the format; the text names the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioSample:
    """What one poll saw of one partition of the group; None is unknown, or never committed.

    Attributes:
        t: Seconds from the beginning.
        log_start: First offset that is still there.
        log_end: Offset after the last message.
        committed: Committed offset.
        members: Members of the group.
        assigned: Whether a member holds this partition.
        state: State of the group.
    """

    t: float
    log_start: int | None = None
    log_end: int | None = None
    committed: int | None = None
    members: int | None = None
    assigned: bool | None = None
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioPartition:
    """One partition and its samples, in order of time."""

    topic: str
    partition: int
    samples: tuple[ScenarioSample, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What was really going on for a time.

    Attributes:
        begin: Seconds from the beginning.
        end: The same.
        status: What the group did, in the words of the statuses.
        should_alert: Whether somebody ought to be notified; None: either is right, as nobody can
            tell yet.
    """

    begin: float
    end: float
    status: str
    should_alert: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What collectors would have seen of a group, with what was really going on.

    Attributes:
        name: Its name.
        poll_seconds: Usual time between polls.
        group: The consumer group.
        partitions: Its partitions.
        truth: What was going on, in order of time; for the scoring alone.
    """

    name: str
    poll_seconds: float
    group: str
    partitions: tuple[ScenarioPartition, ...]
    truth: tuple[Truth, ...]

    @property
    def times(self) -> tuple[float, ...]:
        """Times of all polls, in order."""
        return tuple(sorted({s.t for part in self.partitions for s in part.samples}))


def parse_scenario(document: object) -> Scenario:
    """Return the scenario in a JSON document.

    Raises:
        ScenarioError: It is not of the format.
    """
    found = _mapping(document, "the document")
    poll_seconds = _number(found, "poll_seconds", "the document")
    if poll_seconds <= 0:
        raise ScenarioError("poll_seconds must be positive")
    return Scenario(
        name=str(_value(found, "name", "the document")),
        poll_seconds=poll_seconds,
        group=str(_value(found, "group", "the document")),
        partitions=tuple(
            _partition(one, f"partitions[{index}]")
            for index, one in enumerate(_list(found, "partitions", "the document"))
        ),
        truth=tuple(
            _truth(one, f"truth[{index}]")
            for index, one in enumerate(_list(found, "truth", "the document", []))
        ),
    )


def as_document(scenario: Scenario) -> dict[str, Any]:
    """Return the scenario as a JSON document."""
    return {
        "name": scenario.name,
        "poll_seconds": scenario.poll_seconds,
        "group": scenario.group,
        "partitions": [asdict(part) for part in scenario.partitions],
        "truth": [
            {
                "from": one.begin,
                "to": one.end,
                "status": one.status,
                "should_alert": one.should_alert,
            }
            for one in scenario.truth
        ],
    }


def _partition(document: object, where: str) -> ScenarioPartition:
    found = _mapping(document, where)
    samples = {}
    for index, one in enumerate(_list(found, "samples", where)):
        sample = _sample(one, f"{where}.samples[{index}]")
        samples[sample.t] = sample
    return ScenarioPartition(
        topic=str(_value(found, "topic", where)),
        partition=int(_number(found, "partition", where)),
        samples=tuple(samples[t] for t in sorted(samples)),
    )


def _sample(document: object, where: str) -> ScenarioSample:
    found = _mapping(document, where)
    assigned, state = found.get("assigned"), found.get("state")
    return ScenarioSample(
        t=_number(found, "t", where),
        log_start=_count(found, "log_start", where),
        log_end=_count(found, "log_end", where),
        committed=_count(found, "committed", where),
        members=_count(found, "members", where),
        assigned=None if assigned is None else bool(assigned),
        state=None if state is None else str(state),
    )


def _truth(document: object, where: str) -> Truth:
    found = _mapping(document, where)
    is_open = "should_alert" in found and found["should_alert"] is None
    return Truth(
        begin=_number(found, "from", where),
        end=_number(found, "to", where),
        status=str(_value(found, "status", where)),
        should_alert=None if is_open else bool(_value(found, "should_alert", where)),
    )


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ScenarioError(f"{where} is no JSON object")
    return value


def _value(found: Mapping[str, Any], key: str, where: str) -> Any:
    if found.get(key) is None:
        raise ScenarioError(f"{where} has no {key}")
    return found[key]


def _list(
    found: Mapping[str, Any], key: str, where: str, default: Sequence[Any] | None = None
) -> Sequence[Any]:
    value = default if found.get(key) is None else found[key]
    if value is None:
        raise ScenarioError(f"{where} has no {key}")
    if not isinstance(value, list | tuple):
        raise ScenarioError(f"{key} of {where} is no list")
    return value


def _number(found: Mapping[str, Any], key: str, where: str) -> float:
    value = _value(found, key, where)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ScenarioError(f"{key} of {where} is no number: {value!r}")
    return float(value)


def _count(found: Mapping[str, Any], key: str, where: str) -> int | None:
    return None if found.get(key) is None else int(_number(found, key, where))
