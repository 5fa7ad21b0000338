"""Which faults come when: a plan that a seed decides."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

T = TypeVar("T")

WARM_SECONDS = 150.0
"""Before the first fault: the demo's own trouble is told, and Spark has started."""

CALM_SECONDS = 150.0
"""After the last one: what it caused is over and told."""


class Kind(StrEnum):
    """What can be broken."""

    BROKER_KILLED = "broker killed"
    BROKER_FROZEN = "broker frozen"
    SLOW_NETWORK = "slow network"
    BROKER_CUT_OFF = "broker cut off"
    ALL_CUT_OFF = "all brokers cut off"
    GROUP_STOPPED = "group stopped"
    COLLECTORS_KILLED = "collectors killed"
    BOTH_COLLECTORS_KILLED = "both collectors killed"
    COLLECTORS_FROZEN = "collectors frozen"
    ALERTING_KILLED = "alerting killed"
    ALERTING_FROZEN = "alerting frozen"
    SPARK_KILLED = "Spark killed"
    DASHBOARD_KILLED = "dashboard killed"
    DISK_FULL = "disk full"
    CURRENT_FILE_BROKEN = "file of the present broken"
    SETTINGS_BROKEN = "settings broken"
    OBJECT_STORE_FAILS = "object store fails"
    CLOCK_STEPPED = "clock stepped"


ONLY_WITH_STORE = {Kind.OBJECT_STORE_FAILS}
NOT_WITH_STORE = {Kind.DISK_FULL, Kind.CURRENT_FILE_BROKEN}
"""Faults of a folder: an object store keeps its own disk, and shows no half of an object."""


LASTS_SECONDS: dict[Kind, tuple[float, float]] = {
    Kind.BROKER_KILLED: (40, 70),
    Kind.BROKER_FROZEN: (40, 60),
    Kind.SLOW_NETWORK: (30, 50),
    Kind.BROKER_CUT_OFF: (30, 60),
    Kind.ALL_CUT_OFF: (100, 120),
    Kind.GROUP_STOPPED: (90, 120),
    Kind.COLLECTORS_KILLED: (5, 5),
    Kind.BOTH_COLLECTORS_KILLED: (5, 5),
    Kind.COLLECTORS_FROZEN: (30, 40),
    Kind.ALERTING_KILLED: (5, 5),
    Kind.ALERTING_FROZEN: (30, 40),
    Kind.SPARK_KILLED: (5, 5),
    Kind.DASHBOARD_KILLED: (5, 5),
    Kind.DISK_FULL: (20, 40),
    Kind.CURRENT_FILE_BROKEN: (5, 5),
    Kind.SETTINGS_BROKEN: (15, 20),
    Kind.OBJECT_STORE_FAILS: (60, 90),
    Kind.CLOCK_STEPPED: (40, 60),
}
"""Shortest and longest time until a fault is mended; services come back by themselves."""

_PAUSE_SECONDS = (15.0, 40.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault; times are seconds from the start of the run.

    Attributes:
        at: When it begins.
        ends: When it is mended.
        target: Number of the broker, or name of the group or the service; None: there is one.
    """

    kind: Kind
    at: float
    ends: float
    target: str | None = None


def plan(
    seconds: float, seed: int, kinds: Sequence[Kind], groups: Sequence[str], brokers: int = 3
) -> list[Fault]:
    """Return faults one after the other, each kind and target once before one comes again."""
    dice = random.Random(seed)  # noqa: S311 (a schedule, no secret)
    targets: dict[Kind, Sequence[str]] = {
        Kind.GROUP_STOPPED: groups,
        Kind.COLLECTORS_KILLED: ("collectors", "collectors-2"),
        Kind.COLLECTORS_FROZEN: ("collectors", "collectors-2"),
        Kind.ALERTING_KILLED: ("alerting", "alerting-2"),
        Kind.ALERTING_FROZEN: ("alerting", "alerting-2"),
    }
    for kind in (Kind.BROKER_KILLED, Kind.BROKER_FROZEN, Kind.BROKER_CUT_OFF):
        targets[kind] = [str(number) for number in range(1, brokers + 1)]

    def in_turn(choices: Sequence[T]) -> Iterator[T]:
        while True:
            yield from dice.sample(choices, len(choices))

    turns = {kind: in_turn(choices) for kind, choices in targets.items()}
    found: list[Fault] = []
    at = WARM_SECONDS
    for kind in in_turn(kinds):
        ends = at + dice.uniform(*LASTS_SECONDS[kind])
        if ends > seconds - CALM_SECONDS:
            return found
        target = next(turns[kind]) if kind in turns else None
        found.append(Fault(kind=kind, at=at, ends=ends, target=target))
        at = ends + dice.uniform(*_PAUSE_SECONDS)
    raise AssertionError("kinds are endless")
