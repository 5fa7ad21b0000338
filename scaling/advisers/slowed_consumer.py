"""Consumers that were seen to process more than they get now, and fall behind all the same."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from scaling.advice.model import Evidence
from scaling.advisers.busiest_consumer import BUSIEST
from scaling.facts.group_facts import GroupFacts


class SlowedConsumer(NamedTuple):
    """What the busiest consumer gets, and what one was seen to process; messages a second."""

    gets: float
    seen: float

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The same as figures."""
        return (
            Evidence(name=BUSIEST, value=self.gets, unit="messages/s"),
            Evidence(name="seen of one consumer, at least", value=self.seen, unit="messages/s"),
        )


def slowed_consumer(facts: GroupFacts) -> SlowedConsumer | None:
    """Return what shows that a group that falls behind had consumers enough before.

    Returns:
        None where none was seen to do as much, or who gets what is unknown. Nor where messages
        were lost: what retention deletes looks as if it had been processed.
    """
    seen = facts.capacity.low if facts.capacity is not None else None
    if seen is None or facts.status.numbers.lost_messages:
        return None
    gets: defaultdict[str, float] = defaultdict(float)
    for part in facts.partitions:
        if not part.status.subscribed:
            continue
        arrival = part.status.numbers.arrival_per_second
        if part.member_id is None or arrival is None:
            return None
        gets[part.member_id] += arrival
    busiest = max(gets.values(), default=0.0)
    return SlowedConsumer(busiest, seen) if 0 < busiest < seen else None
