"""Rules from a YAML file: it changes the default ones by name, and adds others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    FiniteFloat,
    ValidationError,
    field_validator,
    model_validator,
)

from alerting.checks.registry import CHECKS
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.matchers import MaintenanceWindow
from alerting.rules.model import AlertSeverity, Override, Rule
from config.errors import ConfigError
from config.load import problem_lines, read_yaml
from config.parts import Pattern, Section

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
LONGEST_SECONDS = 3650 * 86400.0
_PART = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)(ms|s|m|h|d|w)")


def parse_duration(value: Any) -> float:
    """Return seconds from a number of seconds or a text such as ``90s``, ``5m``, ``1h30m``.

    Raises:
        ValueError: It is neither.
    """
    text = value.strip() if isinstance(value, str) else ""
    if text and not _PART.sub("", text):
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value
    else:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_SECONDS:
        raise ValueError("must be a duration such as 30s, 5m, 1h30m or 2d, at most ten years")
    return float(seconds)


Duration = Annotated[float, BeforeValidator(parse_duration)]

# Thresholds of checks whose unit is seconds may be written as durations.
Threshold = Annotated[
    FiniteFloat,
    BeforeValidator(lambda value: parse_duration(value) if isinstance(value, str) else value),
]
_LABEL = r"^[a-zA-Z_][a-zA-Z0-9_]*$"
RuleName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
LabelName = Annotated[str, Field(pattern=_LABEL)]


class _Settable(Section):
    enabled: bool | None = None
    threshold: Threshold | None = None
    for_: Duration | None = Field(default=None, alias="for")
    keep_firing_for: Duration | None = None
    severity: AlertSeverity | None = None
    labels: dict[LabelName, str] = Field(default={})
    runbook: str | None = None


class _OverrideModel(_Settable):
    match: dict[LabelName, Pattern] = Field(min_length=1)

    def override(self) -> Override:
        return Override(
            match=self.match,
            enabled=self.enabled,
            threshold=self.threshold,
            for_seconds=self.for_,
            keep_firing_for_seconds=self.keep_firing_for,
            severity=self.severity,
            labels=self.labels,
            runbook=self.runbook,
        )


class _RuleModel(_Settable):
    check: str | None = None
    match: dict[LabelName, Pattern] = Field(default={})
    overrides: list[_OverrideModel] = Field(default=[])

    @field_validator("check")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None and value not in CHECKS:
            raise ValueError(f"there is no check {value}; those known: {', '.join(CHECKS)}")
        return value

    def applied_to(self, rule: Rule) -> Rule:
        return replace(
            rule,
            check=self.check or rule.check,
            severity=self.severity or rule.severity,
            threshold=rule.threshold if self.threshold is None else self.threshold,
            for_seconds=rule.for_seconds if self.for_ is None else self.for_,
            keep_firing_for_seconds=rule.keep_firing_for_seconds
            if self.keep_firing_for is None
            else self.keep_firing_for,
            labels={**rule.labels, **self.labels},
            runbook=rule.runbook if self.runbook is None else self.runbook,
            match=self.match or rule.match,
            overrides=tuple(one.override() for one in self.overrides) or rule.overrides,
            enabled=rule.enabled if self.enabled is None else self.enabled,
        )


Day = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_DAYS: tuple[Day, ...] = (
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
)
_TIME = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


def _minutes(value: Any) -> int:
    found = _TIME.fullmatch(str(value))
    if found is None:
        raise ValueError('must be a time of the day in UTC such as "02:30"')
    return int(found.group(1)) * 60 + int(found.group(2))


class _MaintenanceModel(Section):
    name: str = Field(min_length=1)
    match: dict[LabelName, Pattern] = Field(default={})
    days: list[Day] = Field(default=list(_DAYS))
    from_: Annotated[int, BeforeValidator(_minutes)] = Field(alias="from")
    to: Annotated[int, BeforeValidator(_minutes)]

    @model_validator(mode="after")
    def _lasts(self) -> Self:
        if self.from_ == self.to:
            raise ValueError("from and to are the same time")
        return self

    def window(self) -> MaintenanceWindow:
        days = frozenset(_DAYS.index(day) for day in self.days)
        return MaintenanceWindow(
            name=self.name, match=self.match, days=days, from_minute=self.from_, to_minute=self.to
        )


class _FileModel(Section):
    rules: dict[RuleName, _RuleModel] = Field(default={})
    maintenance: list[_MaintenanceModel] = Field(default=[])


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """The rules of a file on top of the default ones.

    Attributes:
        problems: What of the file could not be used and was left out, a line each.
    """

    rules: tuple[Rule, ...] = DEFAULT_ALERT_RULES
    maintenance: tuple[MaintenanceWindow, ...] = ()
    problems: tuple[str, ...] = ()


def load_rules(path: Path | None) -> RuleSet:
    """Read the rules of a file; the default ones without a file.

    Raises:
        ConfigError: The file cannot be read or says something that cannot be used.
    """
    return RuleSet() if path is None else rules_from(read_yaml(path), path)


def usable_rules(path: Path | None) -> RuleSet:
    """Read what can be used of a file: its problems tell what was left out.

    One bad rule leaves the others; of a file that cannot be read at all nothing is used.
    """
    try:
        return rules_left(path)
    except (ConfigError, ValueError) as error:
        return RuleSet(problems=(f"{error}; only the default rules are used",))


def rules_left(path: Path | None) -> RuleSet:
    """Read a file without what cannot be used of it; its problems tell what that is.

    Raises:
        ConfigError: It cannot be read at all.
    """
    return RuleSet() if path is None else _usable(read_yaml(path), path)


def rules_from(content: Any, path: Path) -> RuleSet:
    """Return the rules of a file's content.

    Raises:
        ConfigError: It says something that cannot be used.
    """
    found = _usable(content, path)
    if found.problems:
        raise ConfigError("\n".join(found.problems))
    return found


def _usable(content: Any, path: Path) -> RuleSet:
    content = content or {}
    if not isinstance(content, Mapping):
        raise ConfigError(f"{path}: must be a mapping with the key rules")
    problems: list[str] = []
    try:
        model = _FileModel.model_validate(content)
    except ValidationError as error:
        problems += problem_lines(path, error)
        model = _FileModel.model_validate(_without(content, error))
    known = {rule.name for rule in DEFAULT_ALERT_RULES}
    own = []
    for name, one in model.rules.items():
        if name in known:
            continue
        if one.check is None or one.severity is None:
            needed = "check" if one.check is None else "severity"
            problems.append(f"{path}: rules.{name}: a rule of one's own needs a {needed}")
            continue
        own.append(
            one.applied_to(Rule(name=name, check=one.check, severity=one.severity, threshold=0.0))
        )
    changed = [
        model.rules[rule.name].applied_to(rule) if rule.name in model.rules else rule
        for rule in DEFAULT_ALERT_RULES
    ]
    return RuleSet(
        rules=(*changed, *own),
        maintenance=tuple(one.window() for one in model.maintenance),
        problems=tuple(problems),
    )


def _without(content: Mapping[str, Any], error: ValidationError) -> dict[str, Any]:
    """Return a file's content without the rules, windows and keys that an error names."""
    bad = {problem["loc"][:2] for problem in error.errors(include_url=False, include_input=False)}
    kept: dict[str, Any] = {}
    for key, value in content.items():
        if any(len(loc) == 1 and loc[0] == key for loc in bad):
            continue
        if isinstance(value, Mapping):
            kept[key] = {name: one for name, one in value.items() if (key, name) not in bad}
        elif isinstance(value, list):
            kept[key] = [one for index, one in enumerate(value) if (key, index) not in bad]
    return kept
