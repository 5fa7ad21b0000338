"""Why a group is said to fall behind, in figures that never deny it."""

from __future__ import annotations

from typing import NamedTuple

from alerting.status.group_status import complete_sum
from alerting.status.phrases import compared_rates, messages
from scaling.advice.model import Evidence
from scaling.advisers.group_evidence import behind, partition_names
from scaling.facts.group_facts import GroupFacts

_CLEARLY = 1.02
"""So much more is more, however rates are rounded."""


class FallingBehind(NamedTuple):
    """The rates of a group, or of those of its partitions that fall behind."""

    what: str
    arrival: float | None
    consumption: float | None
    lag: int | None
    partitions: str | None = None  # None: it is the whole group

    @property
    def is_shown_by_rates(self) -> bool:
        """Whether they say so; where retention deletes what waits, they may be even."""
        return (
            self.arrival is not None
            and self.consumption is not None
            and self.arrival > self.consumption
        )

    def words(self) -> str:
        """Say it with its figures."""
        if not self.is_shown_by_rates:
            return f"{self.what}: {waits(self.lag)}"
        return f"{self.what}: {compared_rates(self.arrival or 0.0, self.consumption or 0.0)}"

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The figures of the partitions; those of the group stand in all advice."""
        if self.partitions is None:
            return ()
        found = [
            Evidence(name="falls behind on", value=self.partitions),
            Evidence(name="waiting there", value=self.lag, unit="messages"),
        ]
        if self.is_shown_by_rates:
            found += [
                Evidence(name="arrival there", value=self.arrival, unit="messages/s"),
                Evidence(name="consumption there", value=self.consumption, unit="messages/s"),
            ]
        return tuple(found)


def falling_behind(facts: GroupFacts) -> FallingBehind:
    """Say that more arrives than is consumed, or where, if that is so on some partitions only."""
    numbers = facts.status.numbers
    arrival, consumption = numbers.arrival_per_second, numbers.consumption_per_second
    if arrival is None or consumption is None or arrival > _CLEARLY * consumption:
        return FallingBehind("More arrives than is consumed", arrival, consumption, numbers.lag)
    parts = [part.status for part in behind(facts)]
    where = partition_names(parts)
    known = [part.numbers for part in parts]
    return FallingBehind(
        f"The group falls behind on {where}",
        complete_sum(one.arrival_per_second for one in known),
        complete_sum(one.consumption_per_second for one in known),
        complete_sum(one.lag for one in known),
        where,
    )


def waits(lag: int | None) -> str:
    """Say how many messages wait."""
    return f"{messages(lag)} wait" if lag is not None else "how much waits could not be read"
