"""Where a group is said to fall behind, with figures that never deny it."""

from __future__ import annotations

from typing import NamedTuple

from alerting.status.group_status import complete_sum
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
    def evidence(self) -> tuple[Evidence, ...]:
        """The figures of the partitions; those of the group stand in all advice."""
        if self.partitions is None:
            return ()
        found = [
            Evidence(name="falls behind on", value=self.partitions),
            Evidence(name="waiting there", value=self.lag, unit="messages"),
        ]
        if more_arrives(self.arrival, self.consumption):
            found += [
                Evidence(name="arrival there", value=self.arrival, unit="messages/s"),
                Evidence(name="consumption there", value=self.consumption, unit="messages/s"),
            ]
        return tuple(found)


def falling_behind(facts: GroupFacts) -> FallingBehind:
    """Say that a group falls behind, or where, if that is so on some partitions only.

    Not that more arrives than is consumed: that was so when it was measured, and stands beside
    rates of now.
    """
    numbers = facts.status.numbers
    arrival, consumption = numbers.arrival_per_second, numbers.consumption_per_second
    if arrival is None or consumption is None or more_arrives(arrival, consumption):
        return FallingBehind("The group falls behind", arrival, consumption, numbers.lag)
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


def more_arrives(arrival: float | None, consumption: float | None) -> bool:
    """Return whether rates show that a group falls behind, so that they are told where it does.

    Where retention deletes what waits, or a wave of arrivals has passed, they may deny it.
    """
    return arrival is not None and consumption is not None and arrival > _CLEARLY * consumption
