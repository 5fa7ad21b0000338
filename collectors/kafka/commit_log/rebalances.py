"""What changed from one generation of a group to the next, as the log of commits tells it.

Kafka writes no reason into its log. So the reason is what differs between two generations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from collectors.kafka.commit_log.group_records import (
    CLASSIC,
    EPOCHS,
    GroupRecord,
    Member,
    decode_classic,
    decode_epoch,
    decode_group_key,
    decode_member,
)
from collectors.kafka.commit_log.records import MALFORMED
from collectors.source.excerpt import short

MOST = 10_000
"""Rebalances that are kept of a partition until a poll takes them."""

_NAMED = 3
_FIRST_EPOCH = 2  # with which the brokers let newer groups begin, some with 1
_START = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST_TIME = 253_402_300_799_999  # the end of the year 9999; beyond it no clock is right


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """A generation of a classic group, or an epoch of a newer one.

    Attributes:
        protocol: The assignor; None: the broker's, or none.
        leader: The member that assigns; None: the broker does.
        leader_epoch: Changes with the coordinator.
    """

    number: int
    members: Mapping[str, Member]
    protocol: str | None = None
    leader: str | None = None
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalance:
    """A row of the table ``rebalances``, without where it was found."""

    group: str
    rebalanced_at: datetime
    generation: int
    generation_before: int
    members: int
    members_before: int
    joined: int
    left: int
    reason: str
    protocol: str | None
    session_timeout_seconds: float | None
    rebalance_timeout_seconds: float | None
    log_offset: int


@dataclass(slots=True, kw_only=True)
class _Group:
    """A group: its last generation, and its members since."""

    last: Generation | None = None
    members: dict[str, Member] = field(default_factory=dict)


class GroupHistory:
    """Follows the groups of one partition of the log. One thread feeds it, another one drains it.

    Attributes:
        found: Rebalances that no poll has taken yet.
        problem: The last record that was not understood; its group is followed anew behind it.
    """

    def __init__(self) -> None:
        self.found: deque[Rebalance] = deque(maxlen=MOST)
        self.problem: str | None = None
        self._groups: dict[str, _Group] = {}
        self._seen = (-1, -1)  # offset and time of the last record

    def forget(self) -> None:
        """Forget the groups: a part of the log is lost, or it is read anew."""
        self._groups = {}

    def take(self, records: Iterable[GroupRecord]) -> None:
        """Take over records in the order of the log."""
        for record in records:
            name, rebalance = "", None
            try:
                name, member_id = decode_group_key(record.key)
                rebalance = self._after(record, name, member_id or "")
            except MALFORMED as error:  # offsets are told all the same
                self._groups.pop(name, None)
                self.problem = f"the record of a group at offset {record.offset}: {error}"
            offset, time = self._seen
            # A log that is read anew tells again what was told.
            if record.offset > offset or record.time > time:
                self._seen = record.offset, record.time
                if rebalance is not None:
                    self.found.append(rebalance)

    def _after(self, record: GroupRecord, name: str, member_id: str) -> Rebalance | None:
        group = self._groups.setdefault(name, _Group())
        if record.kind == CLASSIC or record.kind in EPOCHS:
            if record.value is None:
                del self._groups[name]
                return None
            if record.kind == CLASSIC:
                found = decode_classic(record.value)
                now = Generation(
                    number=found.generation,
                    members=found.members,
                    protocol=found.protocol,
                    leader=found.leader,
                    leader_epoch=record.leader_epoch,
                )
            else:
                now = Generation(
                    number=decode_epoch(record.value),
                    members=dict(group.members),
                    leader_epoch=record.leader_epoch,
                )
            before, group.last = group.last, now
            if before is None and now.number <= (1 if record.kind == CLASSIC else _FIRST_EPOCH):
                before = Generation(number=now.number - 1, members={})
            return None if before is None else rebalance_of(name, before, now, record)
        if record.value is None:
            group.members.pop(member_id, None)
        else:
            group.members[member_id] = decode_member(record.kind, record.value)
        return None


def rebalance_of(
    group: str, before: Generation, now: Generation, record: GroupRecord
) -> Rebalance | None:
    """Return how two generations differ; None where they are one and the same, or both empty.

    Kafka writes a generation of nobody for a group that only commits, and for one that is loaded.
    """
    if before.number == now.number and before.members.keys() == now.members.keys():
        return None
    if not before.members and not now.members and now.number - before.number <= 1:
        return None
    if not 0 <= record.time <= _LATEST_TIME:
        return None
    members = now.members or before.members
    return Rebalance(
        group=group,
        rebalanced_at=_START + timedelta(milliseconds=record.time),
        generation=now.number,
        generation_before=before.number,
        members=len(now.members),
        members_before=len(before.members),
        joined=len(now.members.keys() - before.members.keys()),
        left=len(before.members.keys() - now.members.keys()),
        reason="; ".join(_reasons(before, now)),
        protocol=now.protocol or None,
        session_timeout_seconds=_longest(member.session_ms for member in members.values()),
        rebalance_timeout_seconds=_longest(member.rebalance_ms for member in members.values()),
        log_offset=record.offset,
    )


def _reasons(before: Generation, now: Generation) -> Iterator[str]:
    left = {id_: member for id_, member in before.members.items() if id_ not in now.members}
    joined = {id_: member for id_, member in now.members.items() if id_ not in before.members}
    back = {each.instance_id for each in left.values()} & {
        each.instance_id for each in joined.values()
    } - {None}
    gone = [each for each in left.values() if each.instance_id not in back]
    new = [each for each in joined.values() if each.instance_id not in back]
    again = [each for each in joined.values() if each.instance_id in back]
    others = [
        member
        for id_, member in now.members.items()
        if id_ in before.members and before.members[id_].topics != member.topics
    ]
    for members, what in (
        (gone, "left"),
        (new, "joined"),
        (again, "came back"),
        (others, "subscribed to other topics"),
    ):
        if members:
            yield f"{_names(members)} {what}"
    if before.protocol and now.protocol and before.protocol != now.protocol:
        yield f"the assignor changed from {short(before.protocol)} to {short(now.protocol)}"
    if before.leader in now.members and now.leader is not None and before.leader != now.leader:
        yield "the leader changed"
    if -1 < before.leader_epoch < now.leader_epoch:
        yield "the coordinator changed"
    if now.number - before.number > 1:
        yield f"generations from {before.number + 1} to {now.number - 1} are not in the log"
    elif not (left or joined or others) and before.protocol == now.protocol:
        yield "the same members: one joined again, or the partitions of its topics changed"


def _names(members: list[Member]) -> str:
    names = sorted(
        each.instance_id or f"{each.client_id or 'a member'} at {each.host.lstrip('/')}"
        for each in members
    )
    listed = ", ".join(short(name) for name in names[:_NAMED])
    return f"{listed} and {len(names) - _NAMED} more" if len(names) > _NAMED else listed


def _longest(milliseconds: Iterable[int | None]) -> float | None:
    known = [each for each in milliseconds if each is not None and each >= 0]
    return max(known) / 1000 if known else None
