"""Rules from a YAML file: it changes the default ones by name, and adds others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from alerting.checks import CHECKS
from alerting.defaults import DEFAULT_RULES
from alerting.matching import Maintenance
from alerting.rules import Override, Rule, Severity
from config.errors import ConfigError
from config.load import problem_lines, read_yaml
from config.parts import Pattern, Section

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")


def parse_duration(value: Any) -> float:
    """Return seconds from a number of seconds or a text such as ``90s``, ``5m``, ``1h30m``.

    Raises:
        ValueError: It is neither.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    text = str(value).strip()
    if not text or _PART.sub("", text):
        raise ValueError("must be a duration such as 30s, 5m, 1h30m or 2d")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


Duration = Annotated[float, BeforeValidator(parse_duration)]

# Thresholds of checks whose unit is seconds may be written as durations.
Threshold = Annotated[
    float,
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
    severity: Severity | None = None
    labels: dict[LabelName, str] = Field(default={})
    runbook: str | None = None


class _OverrideModel(_Settable):
    match: dict[LabelName, Pattern] = Field(min_length=1)

    def override(self) -> Override:
        return Override(
            self.match,
            self.enabled,
            self.threshold,
            self.for_,
            self.keep_firing_for,
            self.severity,
            self.labels,
            self.runbook,
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

    def window(self) -> Maintenance:
        days = frozenset(_DAYS.index(day) for day in self.days)
        return Maintenance(self.name, self.match, days, self.from_, self.to)


class _FileModel(Section):
    rules: dict[Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")], _RuleModel] = Field(
        default={}
    )
    maintenance: list[_MaintenanceModel] = Field(default=[])

    @model_validator(mode="after")
    def _own_rules_are_whole(self) -> Self:
        known = {rule.name for rule in DEFAULT_RULES}
        for name, rule in self.rules.items():
            if name not in known and rule.check is None:
                raise ValueError(f"rules.{name}: a rule of one's own needs a check")
            if name not in known and rule.severity is None:
                raise ValueError(f"rules.{name}: a rule of one's own needs a severity")
        return self


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of a file on top of the default ones.

    Attributes:
        rules: All rules.
        maintenance: Windows in which nobody is told.
    """

    rules: tuple[Rule, ...] = DEFAULT_RULES
    maintenance: tuple[Maintenance, ...] = ()


def load_rules(path: Path | None) -> RuleSet:
    """Read the rules of a file; the default ones without a file.

    Raises:
        ConfigError: The file cannot be read or says something that cannot be used.
    """
    if path is None:
        return RuleSet()
    return rules_from(read_yaml(path), path)


def rules_from(content: Any, path: Path) -> RuleSet:
    """Return the rules of a file's content.

    Args:
        content: What the YAML says.
        path: The file, for messages.

    Raises:
        ConfigError: It says something that cannot be used.
    """
    if not isinstance(content or {}, Mapping):
        raise ConfigError(f"{path}: must be a mapping with the key rules")
    try:
        model = _FileModel.model_validate(content or {})
    except ValidationError as error:
        raise ConfigError("\n".join(problem_lines(path, error))) from None
    changed = [
        model.rules[rule.name].applied_to(rule) if rule.name in model.rules else rule
        for rule in DEFAULT_RULES
    ]
    known = {rule.name for rule in DEFAULT_RULES}
    own = [
        one.applied_to(Rule(name, one.check or "", one.severity or Severity.WARNING, 0.0))
        for name, one in model.rules.items()
        if name not in known
    ]
    return RuleSet((*changed, *own), tuple(one.window() for one in model.maintenance))
