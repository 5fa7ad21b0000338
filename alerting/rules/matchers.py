"""Silences and maintenance windows: of what nobody is notified. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from alerting.rules.lifecycle import Alert
from alerting.rules.model import matches
from config.patterns import PatternError, check_pattern, matches_whole

_MATCHER = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """A condition on one label.

    Attributes:
        label: The label: ``rule``, ``severity``, ``cluster``, ``group`` …; a missing one is empty.
        operator: ``=``, ``!=``, ``=~`` or ``!~`` as Alertmanager writes them.
        value: A text, or a regular expression that the whole value must match.
    """

    label: str
    operator: str
    value: str

    def accepts(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels fulfil the condition."""
        found = labels.get(self.label, "")
        if self.operator in ("=", "!="):
            return (found == self.value) == (self.operator == "=")
        return matches_whole(self.value, found) == (self.operator == "=~")

    def __str__(self) -> str:
        # What begins with a quote or has blanks at its ends is quoted: it is read back as it is.
        as_is = self.value == self.value.strip() and not self.value.startswith('"')
        return f"{self.label}{self.operator}" + (self.value if as_is else f'"{self.value}"')


def parse_matcher(text: str) -> Matcher:
    """Return the matcher that a text such as ``group=~payments-.*`` writes.

    Raises:
        ValueError: It is none.
    """
    found = _MATCHER.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r}: a matcher reads label=value, label!=value, =~ or !~")
    label, operator, value = found.groups()
    if len(value) >= 2 and value[0] == value[-1] == '"':
        value = value[1:-1]
    if operator in ("=~", "!~"):
        try:
            check_pattern(value)
        except PatternError as error:
            raise ValueError(f"{text!r}: {error}") from None
    return Matcher(label=label, operator=operator, value=value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """Nobody is notified of what it matches, for a while; times are in Unix seconds."""

    id: int
    matchers: tuple[Matcher, ...]  # all must accept an alert
    starts_at: float
    ends_at: float
    author: str
    comment: str
    created_at: float
    problem: str = ""  # why its matchers cannot be read, so that it silences nothing; else empty

    def covers(self, alert: Alert, now: float) -> bool:
        """Return whether it silences an alert at a moment."""
        if not self.matchers or not self.starts_at <= now < self.ends_at:
            return False
        return accept(self.matchers, alert)

    def __str__(self) -> str:
        if self.problem:
            return f"cannot be read: {self.problem}"
        return "  ".join(map(str, self.matchers))


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceWindow:
    """A weekly window in which nobody is notified of what it matches."""

    name: str
    match: Mapping[str, str]
    days: frozenset[int]  # on which days it begins; Monday is 0
    from_minute: int  # when it begins, in minutes of the day, UTC
    to_minute: int  # when it ends; on the next day where that is earlier

    def is_on(self, now: float) -> bool:
        """Return whether a moment lies in it."""
        moment = datetime.fromtimestamp(now, UTC)
        minute, day = moment.hour * 60 + moment.minute, moment.weekday()
        if self.from_minute < self.to_minute:
            return day in self.days and self.from_minute <= minute < self.to_minute
        return (day in self.days and minute >= self.from_minute) or (
            (day - 1) % 7 in self.days and minute < self.to_minute
        )

    def covers(self, alert: Alert, now: float) -> bool:
        """Return whether it silences an alert at a moment."""
        return self.is_on(now) and matches(self.match, labels_of(alert))


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """Somebody looks after an alert."""

    alert: str
    author: str
    comment: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """An acknowledgement that holds no more: its alert is as if nobody had acknowledged it."""

    acknowledgement: Acknowledgement
    by: str
    at: float


def accept(matchers: Iterable[Matcher], alert: Alert) -> bool:
    """Return whether all matchers accept an alert."""
    labels = labels_of(alert)
    return all(matcher.accepts(labels) for matcher in matchers)


def labels_of(alert: Alert) -> dict[str, str]:
    """Return everything that a matcher can name."""
    return {
        **alert.extra_labels,
        **alert.labels,
        "rule": alert.rule,
        "alertname": alert.rule,
        "severity": alert.severity.value,
    }
