"""Rules in words, for their page: pure functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from alerting.checks.registry import CHECKS
from alerting.rules.lifecycle import Alert
from alerting.rules.model import Rule
from alerting.status.model import DEFAULT_STATUS_RULES
from app.style.format import duration, exact, share
from app.ui import alert_list
from lake.schemas.model import Table


def when_alerts_fire(evaluated_every_seconds: float) -> tuple[str, str]:
    """Say when an alert fires, and what a reader can rely on of that.

    Args:
        evaluated_every_seconds: How often rules are evaluated.
    """
    return (
        f"Evaluated about every {duration(evaluated_every_seconds)}: an alert fires once its rule "
        "was true for the time in “for”.",
        "Never earlier, and later by as long as nobody had seen it. The status of a group waits by "
        "itself until it is sure, and “for” begins after that: that a group falls behind is true "
        "only once it lasts and no passing peak explains it.",
    )


def parted_by_kind(
    rules: Sequence[Rule], is_there: Callable[[Table], bool]
) -> tuple[list[Rule], list[Rule]]:
    """Return the rules that may fire here, and those of kinds of things that were never seen.

    Args:
        rules: The rules.
        is_there: Whether a table of samples was ever written.
    """
    here: list[Rule] = []
    others: list[Rule] = []
    known: dict[str, bool] = {}
    for rule in rules:
        table = CHECKS[rule.check].sources[0]
        if table.name not in known:
            known[table.name] = is_there(table)
        (here if known[table.name] else others).append(rule)
    return here, others


def rule_rows(rules: Sequence[Rule], firing: Sequence[Alert]) -> pl.DataFrame:
    """Return rules as rows of a table, with how many alerts fire: those of which any does first."""
    numbers: dict[str, int] = {}
    for alert in firing:
        numbers[alert.rule] = numbers.get(alert.rule, 0) + 1
    return pl.DataFrame(
        [
            {
                "rule": rule.name,
                "severity": [alert_list.SEVERITY_BADGE_STYLES[rule.severity].label],
                "condition": condition(rule),
                "for_seconds": rule.for_seconds,
                "keep_seconds": rule.keep_firing_for_seconds,
                "overrides": len(rule.overrides),
                "firing": numbers.get(rule.name, 0),
            }
            for rule in sorted(rules, key=lambda one: one.name not in numbers)
        ],
        schema={
            "rule": pl.String(),
            "severity": pl.List(pl.String()),
            "condition": pl.String(),
            "for_seconds": pl.Float64(),
            "keep_seconds": pl.Float64(),
            "overrides": pl.Int64(),
            "firing": pl.Int64(),
        },
    )


def condition(rule: Rule) -> str:
    """Return when a rule is true, in a sentence."""
    check = CHECKS[rule.check]
    if not rule.enabled:
        return f"off ({check.meaning.removeprefix('1 while ')})"
    if rule.threshold is None:
        return f"{check.meaning}: where an objective is set"
    if check.unit == "1":
        return check.meaning.removeprefix("1 while ")
    above = check.bad == "above"
    if rule.threshold == 0 and rule.check in _OVER_NOTHING:
        return _OVER_NOTHING[rule.check]
    if check.unit in _MEASURES:
        written = _MEASURES[check.unit](rule.threshold)
        return f"{check.meaning}: {'over' if above else 'under'} {written}"
    counted = _RELATIVE.sub(r"\1 \2", check.meaning)
    if above and rule.threshold == 0:
        return f"{counted}{_TAKES.get(rule.check, '')}"
    return f"{'more' if above else 'less'} than {exact(rule.threshold)} {counted}"


_MEASURES: Mapping[str, Callable[[float], str]] = {
    "seconds": duration,
    "ratio": share,
    "intervals": "{:g}".format,
}
"""Units of what is measured, not counted."""

_TAKES: Mapping[str, str] = {
    "stopped": f", which takes {duration(DEFAULT_STATUS_RULES.slight_seconds)} without members or "
    "more",
    "stalled": f", which takes {duration(DEFAULT_STATUS_RULES.stall_seconds)} without a commit or "
    "more",
}
"""Statuses that wait by themselves before they are said: "for" begins after that."""

_OVER_NOTHING: Mapping[str, str] = {
    "objective_missed": "the oldest unread message of a group that falls behind is older than its "
    "objective",
    "losing_data": "messages were lost since the group's last commit, or in ten minutes",
}
"""Checks of which nothing at all is the threshold, in a sentence."""

_RELATIVE = re.compile(r"^((?:\w+ )?\w+) that (wait|hold)(?: \(at least 1\))?")
"""What is counted, and what it does: the condition says that it does so."""
