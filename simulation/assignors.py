"""How a group's assignor shares out partitions, and which numbers of consumers make a difference.

With every member subscribed to every topic. ``assign`` starts from scratch; a sticky assignor that
starts from another assignment, ``reassign``, may place partitions differently, though never less
evenly in number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import cycle

TopicPartition = tuple[str, int]


class Assignor(StrEnum):
    """The ways in which Kafka's own assignors share out partitions."""

    RANGE = "range"
    ROUNDROBIN = "roundrobin"
    STICKY = "sticky"
    COOPERATIVE_STICKY = "cooperative-sticky"
    UNIFORM = "uniform"

    @classmethod
    def of(cls, name: str | None) -> Assignor | None:
        """Return the assignor of that protocol name; None for one that is not Kafka's."""
        try:
            return cls((name or "").strip().lower())
        except ValueError:
            return None


def useful_counts(partitions: int) -> tuple[int, ...]:
    """Return the consumer counts that lower the worst member's number of partitions.

    With P partitions the worst member holds ceil(P / n), so that only n in {ceil(P / k)} makes a
    difference: with P = 24, 13 to 23 consumers are no better than 12.

    Args:
        partitions: Partitions of one topic, or of all topics together where the assignor deals
            them out as one list.

    Returns:
        The counts in ascending order; empty without partitions.

    Raises:
        ValueError: ``partitions`` is negative.
    """
    if partitions < 0:
        raise ValueError("a number of partitions is never negative")
    return tuple(sorted({-(-partitions // load) for load in range(1, partitions + 1)}))


def useful_group_counts(
    partitions: Mapping[str, int], assignor: Assignor | None
) -> tuple[int, ...]:
    """Return the consumer counts that make a difference for a group with several topics.

    The range assignor shares out each topic on its own, the others all topics as one list.

    Args:
        partitions: Partitions by topic.
        assignor: The group's assignor; None is taken for one that deals out one list, the larger
            of the two bounds.
    """
    if assignor is Assignor.RANGE:
        return tuple(sorted({n for number in partitions.values() for n in useful_counts(number)}))
    return useful_counts(sum(partitions.values()))


def most_members(partitions: Mapping[str, int], assignor: Assignor | None) -> int:
    """Return the number of members beyond which one must be idle."""
    counts = useful_group_counts(partitions, assignor)
    return counts[-1] if counts else 0


def idle_members(partitions: Mapping[str, int], assignor: Assignor | None, members: int) -> int:
    """Return how many of ``members`` hold no partition."""
    return max(0, members - most_members(partitions, assignor))


def worst_partitions(partitions: Mapping[str, int], assignor: Assignor | None, members: int) -> int:
    """Return how many partitions the member with most of them holds.

    Raises:
        ValueError: There are no members.
    """
    if members < 1:
        raise ValueError("without members nothing is assigned")
    if assignor is Assignor.RANGE:
        return sum(-(-number // members) for number in partitions.values())
    return -(-sum(partitions.values()) // members)


def assign(
    partitions: Mapping[str, int], assignor: Assignor, members: int
) -> tuple[tuple[TopicPartition, ...], ...]:
    """Share out partitions as the assignor does from scratch.

    Returns:
        The partitions of each member; none for an idle one.

    Raises:
        ValueError: There are no members.
    """
    if members < 1:
        raise ValueError("without members nothing is assigned")
    shares: list[list[TopicPartition]] = [[] for _ in range(members)]
    if assignor is Assignor.RANGE:
        # The first members of each topic get its extra partitions: the same members every time.
        for topic in sorted(partitions):
            numbers = [(topic, number) for number in range(partitions[topic])]
            for share, run in zip(shares, _runs(numbers, members), strict=True):
                share.extend(run)
    else:
        everything = [(t, number) for t in sorted(partitions) for number in range(partitions[t])]
        if assignor is Assignor.UNIFORM:
            # The broker fills one member's quota after the other.
            shares = _runs(everything, members)
        else:
            for share, partition in zip(cycle(shares), everything, strict=False):
                share.append(partition)
    return tuple(tuple(share) for share in shares)


def reassign(
    partitions: Mapping[str, int],
    assignor: Assignor,
    members: Sequence[int],
    current: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """Share out partitions among members of a group that has an assignment.

    Range and round-robin start from scratch. The sticky ones and uniform leave a partition with
    its member unless that one is gone or has more than its even share, so that the fewest move.

    Returns:
        The member of each partition; empty without members.
    """
    if not members:
        return {}
    if assignor in (Assignor.RANGE, Assignor.ROUNDROBIN):
        shares = assign(partitions, assignor, len(members))
        return {key: of for of, share in zip(members, shares, strict=True) for key in share}
    everything = [(t, number) for t in sorted(partitions) for number in range(partitions[t])]
    held: dict[int, list[TopicPartition]] = {member: [] for member in members}
    for key in everything:
        if (member := current.get(key)) in held:
            held[member].append(key)
    size, extra = divmod(len(everything), len(members))
    # Those that hold most keep the larger shares: nothing moves that need not.
    larger = set(sorted(members, key=lambda member: -len(held[member]))[:extra])
    quota = {member: size + (member in larger) for member in members}
    free = sorted(set(everything) - {key for m in members for key in held[m][: quota[m]]})
    for member in members:
        kept = held[member][: quota[member]]
        missing = quota[member] - len(kept)
        held[member] = kept + free[:missing]
        free = free[missing:]
    return {key: member for member in members for key in held[member]}


def member_loads(
    rates: Mapping[str, Sequence[float | None]], assignor: Assignor, members: int
) -> tuple[float | None, ...]:
    """Return each member's arrival rate, in messages per second.

    Returns:
        The sum over each member's partitions; None where one of them is unknown.

    Raises:
        ValueError: There are no members.
    """
    shares = assign({topic: len(of) for topic, of in rates.items()}, assignor, members)
    loads: list[float | None] = []
    for share in shares:
        known = [rate for topic, number in share if (rate := rates[topic][number]) is not None]
        loads.append(sum(known) if len(known) == len(share) else None)
    return tuple(loads)


def _runs(everything: Sequence[TopicPartition], members: int) -> list[list[TopicPartition]]:
    """Cut a list into consecutive runs whose lengths differ by one at most, longer ones first."""
    size, extra = divmod(len(everything), members)
    runs, start = [], 0
    for member in range(members):
        end = start + size + (1 if member < extra else 0)
        runs.append(list(everything[start:end]))
        start = end
    return runs
