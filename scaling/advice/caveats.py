"""What may go wrong when advice is followed, by the facts of the group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scaling.advice.key_moves import moved_share
from scaling.advice.model import Caveat, CaveatLevel
from scaling.facts.group_facts import GroupFacts
from scaling.facts.topic_facts import TopicFacts
from simulation.assignors import Assignor

_LEVELS = tuple(CaveatLevel)


def worst_first(caveats: Iterable[Caveat]) -> tuple[Caveat, ...]:
    """Return the caveats with blockers first."""
    return tuple(sorted(caveats, key=lambda caveat: _LEVELS.index(caveat.level)))


def of_more_partitions(facts: GroupFacts) -> tuple[Caveat, ...]:
    """Return what must be known before a topic of this group gets more partitions."""
    is_streams = facts.kind in ("streams", "ksqldb") or facts.type == "streams"
    return worst_first(
        _of_growing(
            "Twice as many move half of all keys",
            is_compacted=any(limits.is_compacted for limits in facts.topics.values()),
            streams=(facts.group,) if is_streams else (),
        )
    )


def of_topic_partitions(facts: TopicFacts, proposed: int) -> tuple[Caveat, ...]:
    """Return what must be known before a topic gets ``proposed`` partitions."""
    share = moved_share(facts.partitions, proposed)
    times, rest = divmod(proposed, facts.partitions)
    where = (
        f", each from its partition p to one of p + {facts.partitions}j (j from 1 to {times - 1})"
        if rest == 0
        else ", anywhere"
    )
    streams = tuple(one.group for one in facts.readers if one.kind in ("streams", "ksqldb"))
    return worst_first(
        _of_growing(
            f"{share:.1%} of the keys move{where}",
            is_compacted=facts.is_compacted,
            streams=streams,
        )
    )


def _of_growing(moved: str, *, is_compacted: bool, streams: tuple[str, ...]) -> Iterator[Caveat]:
    yield Caveat(
        level=CaveatLevel.BLOCKER,
        text=f"More partitions change where keys go ({moved}): messages of one key that are "
        "written before and after the change lie in different partitions, and their order is lost.",
    )
    yield Caveat(level=CaveatLevel.BLOCKER, text="Partitions can never be taken away again.")
    if streams:
        yield Caveat(
            level=CaveatLevel.BLOCKER,
            text=f"The input of a Streams application ({', '.join(streams)}): its internal topics "
            "keep their number of partitions, so that it fails to start, and topics that it joins "
            "must change together.",
        )
    if is_compacted:
        yield Caveat(
            level=CaveatLevel.HIGH,
            text="A compacted topic with keys: the old value of a key stays in its old partition, "
            "where nothing ever replaces it.",
        )
    yield Caveat(
        level=CaveatLevel.HIGH,
        text="Consumers that start at the latest offset may miss the first messages of a new "
        "partition: what arrives before they learn of it.",
    )
    yield Caveat(
        level=CaveatLevel.LOW,
        text="New partitions take new messages only: they never drain a backlog that is there.",
    )


def of_other_members(facts: GroupFacts) -> tuple[Caveat, ...]:
    """Return what must be known before the number of this group's members changes."""
    caveats = [
        Caveat(
            level=CaveatLevel.LOW,
            text="One processing thread a member is assumed; a member with several can do more.",
        )
    ]
    if Assignor.of(facts.assignor) is Assignor.RANGE:
        caveats.append(
            Caveat(
                level=CaveatLevel.MEDIUM,
                text="The range assignor stops every member during a rebalance; a cooperative one "
                "stops only partitions that move.",
            )
        )
        if len(facts.subscribed) > 1:
            caveats.append(
                Caveat(
                    level=CaveatLevel.HIGH,
                    text="The range assignor over several topics gives the extra partitions of "
                    "each topic to the same first members.",
                )
            )
    if facts.static_members:
        caveats.append(
            Caveat(
                level=CaveatLevel.MEDIUM,
                text="Members have a group.instance.id: a new member needs its own, and the "
                "partitions of one that is removed stay with it until session.timeout.ms has "
                "passed.",
            )
        )
    if facts.kind == "connect":
        caveats.append(
            Caveat(
                level=CaveatLevel.MEDIUM,
                text="A member is a connector's task: change tasks.max, not the number of workers.",
            )
        )
    if facts.kind == "ditto":
        caveats.append(
            Caveat(
                level=CaveatLevel.MEDIUM,
                text="Consumers are clientCount x the highest consumerCount, and clientCount is at "
                "most the number of connectivity instances.",
            )
        )
    if facts.kind in ("streams", "ksqldb") or facts.type == "streams":
        caveats.append(
            Caveat(
                level=CaveatLevel.MEDIUM,
                text="A member is a stream thread: its tasks, one a partition of the inputs, bound "
                "what threads can do, and state moves with them.",
            )
        )
    if any(part.is_transactional for part in facts.partitions):
        caveats.append(TRANSACTIONS)
    if facts.at_most_once:
        caveats.append(AT_MOST_ONCE)
    if facts.type == "share":
        caveats.append(
            Caveat(
                level=CaveatLevel.LOW,
                text="A share group may have more consumers than partitions.",
            )
        )
    return worst_first(caveats)


TRANSACTIONS = Caveat(
    level=CaveatLevel.MEDIUM,
    text="Transactions end with markers, which take an offset and are never delivered: a lag of "
    "one a partition may never go away, and open transactions hold messages back.",
)
AT_MOST_ONCE = Caveat(
    level=CaveatLevel.HIGH,
    text="Offsets are committed before messages are handled (at most once): what a consumer holds "
    "when it is stopped or loses a partition is lost, so that each rebalance may lose messages.",
)
QUOTAS = Caveat(
    level=CaveatLevel.MEDIUM,
    text="Broker quotas on fetching or producing look like slow handlers and are not seen from "
    "here.",
)
SPARES = Caveat(
    level=CaveatLevel.LOW,
    text="An idle consumer takes over at once when another fails; keep one if that matters more.",
)
SEGMENTS = Caveat(
    level=CaveatLevel.LOW,
    text="Whole closed segments are deleted: the loss comes at this time or later, not before.",
)
DISK = Caveat(level=CaveatLevel.MEDIUM, text="Longer retention takes disk on every replica.")
