"""Which messages of a group retention deleted of late; no input or output."""

from __future__ import annotations

from alerting.status.model import PartitionStatus, Status
from alerting.status.offset_faults import overtaken
from scaling.facts.group_facts import GroupFacts


def losses(facts: GroupFacts) -> list[tuple[PartitionStatus, int | None]]:
    """Return the partitions of which messages were lost, and how many; None: that is not known.

    What polls saw before they failed is lost all the same. And a group that loses data, as its
    alert says, is advised against that, whichever of its partitions could be read.
    """
    seen = {
        (one.topic, one.partition): found.messages
        for one in facts.windows
        if (found := overtaken(one.samples)) is not None
    }
    parts = [part.status for part in facts.partitions if part.status.subscribed]
    lost: list[tuple[PartitionStatus, int | None]] = []
    for part in parts:
        number = part.numbers.lost_messages
        if number is None:
            number = seen.get((part.topic, part.partition))
        if number or part.status is Status.LOSING_DATA:
            lost.append((part, number))
    if not lost and facts.status.status is Status.LOSING_DATA:
        return [(part, None) for part in parts]
    return lost
