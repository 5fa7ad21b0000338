"""Unit tests of rules: series in, expected alerts out; a YAML file a person writes.

docs/operations.md describes the format. Series are written as promtool writes them: ``1+2x3`` is
1 3 5 7, ``5x3`` is 5 5 5 5, ``_`` is a value that could not be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator

from alerting.checks.model import Observation
from alerting.checks.registry import CHECKS
from alerting.errors import RuleTestError
from alerting.evaluate.observations import group_observations
from alerting.inputs.windows import GroupKey, downsampled
from alerting.notify.notifications import NotificationIntervals
from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import AlertSeverity, Rule, evaluate
from alerting.rules.rule_file import Duration, load_rules
from alerting.status.group_status import group_status
from alerting.status.model import PartitionWindow, Sample
from alerting.tools.replay import Recorder
from config.errors import ConfigError
from config.load import problem_lines, read_yaml
from config.parts import Section

_ITEM = re.compile(
    r"(?P<value>-?\d+(?:\.\d+)?|_)(?:(?P<step>[+-]\d+(?:\.\d+)?))?(?:x(?P<times>\d+))?"
)
_LONGEST = 100_000


def parse_series(text: str) -> list[float | None]:
    """Return the values that a series writes.

    Raises:
        ValueError: It is no series.
    """
    values: list[float | None] = []
    for item in str(text).split():
        found = _ITEM.fullmatch(item)
        if found is None or (found["value"] == "_" and found["step"]):
            raise ValueError(f"{item!r}: a series reads 5x10, 0+100x10, 1 2 3 or _x4")
        times = int(found["times"] or 0)
        if found["value"] == "_":
            values += [None] * max(1, times)
        else:
            first, step = float(found["value"]), float(found["step"] or 0)
            values += [first + step * number for number in range(times + 1)]
        if len(values) > _LONGEST:
            raise ValueError(f"a series has at most {_LONGEST:,} values")
    return values


class _Partition(Section):
    topic: str
    partition: int = 0
    committed: str
    log_end: str
    log_start: str = "0x99999"
    time_lag_seconds: str | None = None
    members: str = "1x99999"
    assigned: str | None = None


class _Series(Section):
    check: str
    labels: dict[str, str] = Field(default={})
    values: str

    @field_validator("check")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in CHECKS:
            raise ValueError(f"there is no check {value}")
        return value


class _Expected(Section):
    at: Duration
    rule: str
    state: State = State.FIRING
    severity: AlertSeverity | None = None
    labels: dict[str, str] = Field(default={})
    inhibited_by: str | None = None


class _Case(Section):
    name: str
    interval: Duration = 15.0
    cluster: str = "test"
    groups: dict[str, list[_Partition]] = Field(default={})
    series: list[_Series] = Field(default=[])
    alerts: list[_Expected] = Field(default=[])
    none_at: list[Duration] = Field(default=[])


class _File(Section):
    rules: Path | None = None
    tests: Annotated[list[_Case], Field(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTestResult:
    """What became of one test."""

    name: str
    failures: tuple[str, ...]


def run_tests(path: Path) -> list[RuleTestResult]:
    """Run the tests of a file.

    Raises:
        ConfigError: The file, or the rules that it names, cannot be used.
        RuleTestError: A series is none.
    """
    content = read_yaml(path)
    try:
        found = _File.model_validate(content)
    except ValidationError as error:
        raise ConfigError("\n".join(problem_lines(path, error))) from None
    rules = load_rules(None if found.rules is None else path.parent / found.rules).rules
    return [_run(case, rules) for case in found.tests]


def _run(case: _Case, rules: tuple[Rule, ...]) -> RuleTestResult:
    try:
        frames = _observations(case)
    except ValueError as error:
        raise RuleTestError(f"{case.name}: {error}") from None
    recorder = Recorder(NotificationIntervals())
    states: list[tuple[float, tuple[Alert, ...]]] = []
    for index, seen in enumerate(frames):
        now = index * case.interval
        recorder.take(evaluate(rules, seen), now)
        states.append((now, tuple(recorder.current)))
    failures = [line for want in case.alerts for line in _missing(want, states, rules)]
    for moment in case.none_at:
        fires = [
            a for a in _state_at(states, moment) if a.state is State.FIRING and not a.is_inhibited
        ]
        failures += [f"at {moment:g} s: {a.rule} fires ({a.what})" for a in fires if _pages(a)]
    return RuleTestResult(name=case.name, failures=tuple(failures))


def _pages(alert: Alert) -> bool:
    return alert.severity is not AlertSeverity.INFO


def _state_at(states: list[tuple[float, tuple[Alert, ...]]], moment: float) -> tuple[Alert, ...]:
    if not states or moment > states[-1][0]:
        end = states[-1][0] if states else 0.0
        raise RuleTestError(f"{moment:g} s lies after the end of the series ({end:g} s)")
    return next(alerts for at, alerts in reversed(states) if at <= moment)


def _missing(
    want: _Expected, states: list[tuple[float, tuple[Alert, ...]]], rules: tuple[Rule, ...]
) -> Iterator[str]:
    if want.rule not in {rule.name for rule in rules}:
        raise RuleTestError(f"there is no rule {want.rule}")
    alerts = _state_at(states, want.at)
    names = {alert.fingerprint: alert.rule for alert in alerts}
    for alert in alerts:
        if (
            alert.rule == want.rule
            and alert.state is want.state
            and want.severity in (None, alert.severity)
            and all(alert.labels.get(key) == value for key, value in want.labels.items())
            and want.inhibited_by in (None, names.get(alert.inhibited_by or ""))
        ):
            return
    there = ", ".join(f"{a.rule} {a.state.value}" for a in alerts) or "nothing"
    yield f"at {want.at:g} s: {want.rule} is not {want.state.value}; there is {there}"


def _observations(case: _Case) -> list[list[Observation]]:
    """Return what checks see at each evaluation."""
    plain = [(one, parse_series(one.values)) for one in case.series]
    groups = {
        name: [(part, _samples(part, case.interval)) for part in parts]
        for name, parts in case.groups.items()
    }
    lengths = [len(values) for _, values in plain]
    lengths += [len(samples) for parts in groups.values() for _, samples in parts]
    frames = []
    kept: dict[tuple[str, int], tuple[Sample, ...]] = {}
    for index in range(max(lengths, default=0)):
        now = index * case.interval
        for name, parts in groups.items():
            for number, (_, samples) in enumerate(parts):
                seen_so_far = kept.get((name, number), ())
                kept[name, number] = downsampled((*seen_so_far, *samples[index : index + 1]))
        statuses = {
            GroupKey(case.cluster, name): group_status(
                [
                    PartitionWindow(
                        topic=part.topic,
                        partition=part.partition,
                        samples=kept[name, number],
                    )
                    for number, (part, _) in enumerate(parts)
                ],
                now=now,
            )
            for name, parts in groups.items()
        }
        seen = group_observations(statuses, now=now)
        for one, values in plain:
            if index < len(values):
                labels = {"cluster": case.cluster, **one.labels}
                thing = ", ".join(one.labels.values()) or case.cluster
                seen.append(
                    Observation(
                        check=one.check,
                        labels=labels,
                        value=values[index],
                        what=f"{one.check} of {thing}",
                    )
                )
        frames.append(seen)
    return frames


def _samples(part: _Partition, interval: float) -> list[Sample]:
    committed, log_end = parse_series(part.committed), parse_series(part.log_end)
    columns: Mapping[str, list[float | None]] = {
        "log_start": parse_series(part.log_start),
        "members": parse_series(part.members),
        "assigned": parse_series(part.assigned) if part.assigned else [],
        "time_lag_seconds": parse_series(part.time_lag_seconds) if part.time_lag_seconds else [],
    }

    def value(name: str, index: int) -> float | None:
        values = columns[name]
        return values[index] if index < len(values) else None

    samples = []
    for index in range(min(len(committed), len(log_end))):
        read, end = _whole(committed[index]), _whole(log_end[index])
        members, assigned = _whole(value("members", index)), value("assigned", index)
        holds: Any = bool(assigned) if part.assigned else None if members is None else members > 0
        samples.append(
            Sample(
                index * interval,
                read,
                _whole(value("log_start", index)),
                end,
                None if read is None or end is None else max(0, end - read),
                value("time_lag_seconds", index),
                holds,
                members,
                None if members is None else "stable" if members else "empty",
            )
        )
    return samples


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
