"""Why a change is advised, in a few words: the figures that tell most. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

import polars as pl

from app.style.format import thin
from app.ui.advice import advice_cards
from scaling.advice.model import AdviceKind, Confidence, Recommendation
from scaling.advisers.falling_behind import more_arrives
from scaling.sizing.size import LimitingFactor

_WORDS = 12

_WAITS = ("{lag} messages wait, the oldest for {oldest unread message}", "{lag} messages wait")
_SHARE = (
    "{share of the busiest partition} of the messages on {hot partitions}",
    "{share of the busiest partition} of the messages on one partition",
)
_COPIES = "replication factor {replication factor}, min.insync.replicas {min.insync.replicas}"

_BY_KIND: Mapping[AdviceKind, Sequence[str]] = {
    AdviceKind.DATA_LOST: ("messages deleted unread, {lag} wait", "messages deleted unread"),
    AdviceKind.RETENTION_DEADLINE: (
        "{slowest group} is late, {retention} are kept",
        "the oldest unread message is {oldest unread message} old",
        "{retention used} of the retention used",
    ),
    AdviceKind.START_CONSUMERS: _WAITS,
    AdviceKind.RESTART_CONNECTOR: _WAITS,
    AdviceKind.BLOCKED_PARTITION: (
        "no commit on {blocked partitions}, {lag} messages wait",
        "no commit on {blocked partitions}",
    ),
    AdviceKind.BLOCKED_GROUP: ("no commit, {lag} messages wait",),
    AdviceKind.HOT_PARTITION: _SHARE,
    AdviceKind.ADD_CONSUMERS: (
        "{arrival there} arrive on {falls behind on}, {consumption there} consumed",
        "messages wait on {falls behind on}",
        "{arrival} arrive, {consumption} consumed",
    ),
    AdviceKind.PARTITION_BOUND: (
        "busiest partition gets {busiest partition}, one consumer processes {capacity, lower end}",
        "{arrival} arrive, {consumption} consumed",
    ),
    AdviceKind.REMOVE_CONSUMERS: (
        "busiest consumer would get {busiest consumer}, {allowed for it} allowed",
    ),
    AdviceKind.REMOVE_IDLE_CONSUMERS: ("{consumers} consumers for {partitions} partitions",),
    AdviceKind.ADD_PARTITIONS: (
        "{arrival} arrive, one consumer processes {capacity of one consumer, lower end}",
        "{written} written",
    ),
    AdviceKind.DURABILITY: (_COPIES,),
}
"""What is said by kind: the first line of which all figures are known."""

_BY_LIMIT: Mapping[str | None, Sequence[str]] = {
    LimitingFactor.STEADY: ("busiest consumer gets {busiest consumer}, {allowed for it} allowed",),
    LimitingFactor.FORECAST: (
        "busiest consumer may soon get {busiest consumer}, {allowed for it} allowed",
    ),
    LimitingFactor.CATCH_UP: _WAITS,
    LimitingFactor.RETENTION: _WAITS,
}
"""The same of more consumers, by what limits their number."""


Figures = Mapping[str, float | int | None]
"""Present values, by the names that evidence has for them."""

_PRESENT: Mapping[str, str] = {
    "lag": "lag",
    "oldest unread message": "time_lag_seconds",
    "arrival": "arrival_per_second",
    "consumption": "consumption_per_second",
}


def figures_of(groups: pl.DataFrame) -> dict[str, Figures]:
    """Return the present figures of each group; groups are rows of ``group_status``."""
    return {
        row["group"]: {name: row[column] for name, column in _PRESENT.items()}
        for row in groups.select("group", *_PRESENT.values()).iter_rows(named=True)
    }


def why(advice: Recommendation, present: Figures | None = None) -> str:
    """Say in a few words what advice follows from: its telling figures, else its reason.

    Args:
        advice: The advice.
        present: What its group's figures are now, as other pages say; None: those that were
            measured when it was given.
    """
    if advice.kind is AdviceKind.UNKNOWN:
        return _cut(advice.unknown_reason or advice.reason)
    if present is not None:
        now = (replace(one, value=present.get(one.name, one.value)) for one in advice.evidence)
        advice = replace(advice, evidence=tuple(now))
    known = {
        one.name: advice_cards.written(one) for one in advice.evidence if one.value is not None
    }
    lines = _BY_KIND.get(advice.kind, ())
    values = {one.name: one.value for one in advice.evidence}
    if advice.kind is AdviceKind.ADD_CONSUMERS:
        by_limit = _BY_LIMIT.get(advice.limiting_factor, ())
        # Between two waves what a forecast is about is not to be seen in what is measured.
        busiest = _number(values.get("busiest consumer"))
        allowed = _number(values.get("allowed for it"))
        denies = busiest is None or allowed is None or busiest <= allowed
        lines = (*(one for one in by_limit if not (denies and "allowed" in one)), *lines)
    said = next((line for line in lines if _tells(line, known.keys(), values)), None)
    text = (
        _cut(advice.reason.partition(". ")[0].rstrip("."))
        if said is None
        else _NAMES.sub(lambda name: known[name[1]], said)
    )
    doubt = " (low confidence)" if advice.confidence is Confidence.LOW else ""
    return f"{thin(text)}{doubt}"


_NAMES = re.compile(r"\{([^}]+)\}")
_RATES = (("arrival", "consumption"), ("arrival there", "consumption there"))


def _tells(line: str, known: Set[str], values: Mapping[str, float | int | str | None]) -> bool:
    """Return whether all figures of a line are known, and its rates do not deny the advice."""
    names = set(_NAMES.findall(line))
    return known >= names and all(
        more_arrives(_number(values[arrival]), _number(values[consumption]))
        for arrival, consumption in _RATES
        if {arrival, consumption} <= names
    )


def _number(value: float | int | str | None) -> float | None:
    return None if isinstance(value, str) else value


def _cut(text: str) -> str:
    said = text.split()
    return thin(text if len(said) <= _WORDS else f"{' '.join(said[:_WORDS])} …")
