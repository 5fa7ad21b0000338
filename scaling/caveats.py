"""What may go wrong when advice is followed, by the facts of the group."""

from __future__ import annotations

from collections.abc import Iterable

from simulation.assignors import Assignor
from scaling.facts import GroupFacts
from scaling.model import Caveat, CaveatLevel

_LEVELS = tuple(CaveatLevel)


def worst_first(caveats: Iterable[Caveat]) -> tuple[Caveat, ...]:
    """Return the caveats with blockers first."""
    return tuple(sorted(caveats, key=lambda caveat: _LEVELS.index(caveat.level)))


def of_more_partitions(facts: GroupFacts) -> tuple[Caveat, ...]:
    """Return what must be known before a topic of this group gets more partitions."""
    caveats = [
        Caveat(
            CaveatLevel.BLOCKER,
            "More partitions change where keys go: messages of one key that are written before "
            "and after the change lie in different partitions, and their order is lost.",
        ),
        Caveat(CaveatLevel.BLOCKER, "Partitions can never be taken away again."),
        Caveat(
            CaveatLevel.HIGH,
            "Consumers that start at the latest offset may miss the first messages of a new "
            "partition.",
        ),
        Caveat(
            CaveatLevel.LOW,
            "New partitions take new messages only: they never drain a backlog that is there.",
        ),
    ]
    if facts.kind in ("streams", "ksqldb") or facts.type == "streams":
        caveats.append(
            Caveat(
                CaveatLevel.BLOCKER,
                "The input of a Streams application: its internal topics keep their number of "
                "partitions, so that it fails to start, and joined topics must change together.",
            )
        )
    if any(limits.is_compacted for limits in facts.topics.values()):
        caveats.append(
            Caveat(
                CaveatLevel.HIGH,
                "A compacted topic with keys: the old value of a key stays in its old partition.",
            )
        )
    return worst_first(caveats)


def of_other_members(facts: GroupFacts) -> tuple[Caveat, ...]:
    """Return what must be known before the number of this group's members changes."""
    caveats = [
        Caveat(
            CaveatLevel.LOW,
            "One processing thread a member is assumed; a member with several can do more.",
        )
    ]
    if Assignor.of(facts.assignor) is Assignor.RANGE:
        caveats.append(
            Caveat(
                CaveatLevel.MEDIUM,
                "The range assignor stops every member during a rebalance; a cooperative one "
                "stops only partitions that move.",
            )
        )
        if len(facts.subscribed) > 1:
            caveats.append(
                Caveat(
                    CaveatLevel.HIGH,
                    "The range assignor over several topics gives the extra partitions of each "
                    "topic to the same first members.",
                )
            )
    if facts.static_members:
        caveats.append(
            Caveat(
                CaveatLevel.MEDIUM,
                "Members have a group.instance.id: a new member needs its own, and the partitions "
                "of one that is removed stay with it until session.timeout.ms has passed.",
            )
        )
    if facts.kind == "connect":
        caveats.append(
            Caveat(
                CaveatLevel.MEDIUM,
                "A member is a connector's task: change tasks.max, not the number of workers.",
            )
        )
    if facts.kind == "ditto":
        caveats.append(
            Caveat(
                CaveatLevel.MEDIUM,
                "Consumers are clientCount x the highest consumerCount, and clientCount is at "
                "most the number of connectivity instances.",
            )
        )
    if facts.type == "share":
        caveats.append(
            Caveat(
                CaveatLevel.LOW,
                "A share group may have more consumers than partitions.",
            )
        )
    return worst_first(caveats)


QUOTAS = Caveat(
    CaveatLevel.MEDIUM,
    "Broker quotas on fetching or producing look like slow handlers and are not seen from here.",
)
SPARES = Caveat(
    CaveatLevel.LOW,
    "An idle consumer takes over at once when another fails; keep one if that matters more.",
)
SEGMENTS = Caveat(
    CaveatLevel.LOW,
    "Whole closed segments are deleted: the loss comes at this time or later, not before.",
)
DISK = Caveat(CaveatLevel.MEDIUM, "Longer retention takes disk on every replica.")
