"""The records of ``__consumer_offsets`` that tell a group's generations and members.

Groups of the classic protocol have one record (type 2) with generation and members. KIP-848, share
and Streams groups have a record with the group's epoch and one for each member. Nothing else of
them is read; above all no assignment.

Source of the formats: the schemas in Kafka's group coordinator (``common/message/*.json``).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from collectors.kafka.groups.member_protocol import decode_subscription
from collectors.kafka.protocol.fetch.record_batches import Batch

CLASSIC = 2
EPOCHS = frozenset({3, 11, 17})
"""Record types with the epoch of a consumer, share or Streams group."""

_CONSUMER, _SHARE, _STREAMS = 5, 10, 19
MEMBERS = frozenset({_CONSUMER, _SHARE, _STREAMS})
"""Record types with one member of such a group."""

TYPES = frozenset({CLASSIC, *EPOCHS, *MEMBERS})

_FLEXIBLE = 4  # the first version of a classic group's value with compact texts
_MOST_MEMBERS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member of a group.

    Attributes:
        instance_id: Of a static member.
        topics: The names and patterns that it subscribes to; None: unknown.
    """

    client_id: str
    host: str
    instance_id: str | None = None
    topics: tuple[str, ...] | None = None
    session_ms: int | None = None
    rebalance_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicGroup:
    """A generation of a classic group; without a member it is empty."""

    generation: int
    protocol: str | None
    leader: str | None
    members: Mapping[str, Member]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRecord:
    """One record.

    Attributes:
        offset: Its offset.
        time: When it was written, in milliseconds since 1970.
        leader_epoch: Which leader of the partition wrote it; it is the groups' coordinator.
        key: Its type, the group, and the member's id where there is one.
        value: None: a tombstone, after which the group or the member is no more.
    """

    kind: int
    offset: int
    time: int
    leader_epoch: int
    key: bytes
    value: bytes | None


def read_group_record(batch: Batch, start: int) -> GroupRecord:
    """Read the record of a batch that begins at a place, behind its length.

    Raises:
        ValueError, IndexError, struct.error: The record makes no sense.
    """
    reader = _Reader(batch.data, start + 1)  # behind the attributes
    time, offset = reader.varint(), reader.varint()
    key = reader.sized(reader.varint())
    if key is None:
        raise ValueError("a record has no key")
    value = reader.sized(reader.varint())
    return GroupRecord(
        kind=int.from_bytes(key[:2], "big"),
        offset=batch.base_offset + offset,
        time=batch.base_time + time if batch.append_time is None else batch.append_time,
        leader_epoch=batch.leader_epoch,
        key=key,
        value=value,
    )


def decode_group_key(key: bytes) -> tuple[str, str | None]:
    """Return the group, and the member that a record is about."""
    reader = _Reader(key, 2)
    group = reader.text(compact=False)
    member = None if reader.at == len(key) else reader.text(compact=False)
    return group or "", member


def decode_epoch(value: bytes) -> int:
    """Return the epoch of a consumer, share or Streams group."""
    reader = _Reader(value)
    _known(reader.number(">h"), 0)
    return reader.number(">i")


def decode_member(kind: int, value: bytes) -> Member:
    """Return a member of a consumer, share or Streams group."""
    reader = _Reader(value)
    _known(reader.number(">h"), 0)
    instance = None if kind == _SHARE else reader.text()
    reader.text()  # the rack
    client, host = reader.text(), reader.text()
    topics: tuple[str, ...] | None = None
    if kind != _STREAMS:
        names = [reader.text() or "" for _ in range(reader.length())]
        if kind == _CONSUMER and (pattern := reader.text()):
            names.append(pattern)
        topics = tuple(sorted(names))
    rebalance = None if kind == _SHARE else reader.number(">i")
    return Member(
        client_id=client or "",
        host=host or "",
        instance_id=instance,
        topics=topics,
        rebalance_ms=rebalance,
    )


def decode_classic(value: bytes) -> ClassicGroup:
    """Return a generation of a classic group."""
    reader = _Reader(value)
    version = _known(reader.number(">h"), 4)
    compact = version >= _FLEXIBLE
    is_consumer = reader.text(compact=compact) == "consumer"
    generation = reader.number(">i")
    protocol, leader = reader.text(compact=compact), reader.text(compact=compact)
    if version >= 2:
        reader.number(">q")  # when the state began
    members = {}
    for _ in range(reader.length(compact=compact)):
        member_id = reader.text(compact=compact)
        instance = reader.text(compact=compact) if version >= 3 else None
        client, host = reader.text(compact=compact), reader.text(compact=compact)
        rebalance = reader.number(">i") if version >= 1 else None
        session = reader.number(">i")
        subscription = reader.data(compact=compact)
        reader.data(compact=compact)  # the assignment
        if compact:
            reader.tags()
        members[member_id or ""] = Member(
            client_id=client or "",
            host=host or "",
            instance_id=instance,
            topics=_topics(subscription) if is_consumer else None,
            session_ms=session,
            rebalance_ms=rebalance,
        )
    return ClassicGroup(generation=generation, protocol=protocol, leader=leader, members=members)


def _topics(subscription: bytes | None) -> tuple[str, ...] | None:
    try:
        return tuple(sorted(decode_subscription(subscription or b"")))
    except ValueError:  # clients write what they like there
        return None


def _known(version: int, newest: int) -> int:
    if not 0 <= version <= newest:
        raise ValueError(f"version {version} is not known")
    return version


class _Reader:
    """Reads one value after the other; raises ValueError or struct.error where there is none."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self.at = at

    def number(self, layout: str) -> int:
        (number,) = struct.unpack_from(layout, self._data, self.at)
        self.at += struct.calcsize(layout)
        return int(number)

    def unsigned(self) -> int:
        number = 0
        for place in range(10):
            byte = self._data[self.at]
            self.at += 1
            number |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return number
        raise ValueError("a number has too many bytes")

    def varint(self) -> int:
        number = self.unsigned()
        return (number >> 1) ^ -(number & 1)

    def sized(self, size: int) -> bytes | None:
        if size < 0:
            return None
        end = self.at + size
        if end > len(self._data):
            raise ValueError("a value is cut off")
        found = self._data[self.at : end]
        self.at = end
        return found

    def text(self, *, compact: bool = True) -> str | None:
        size = self.unsigned() - 1 if compact else self.number(">h")
        found = self.sized(size)
        return None if found is None else found.decode()

    def data(self, *, compact: bool) -> bytes | None:
        return self.sized(self.unsigned() - 1 if compact else self.number(">i"))

    def length(self, *, compact: bool = True) -> int:
        found = self.unsigned() - 1 if compact else self.number(">i")
        if found > min(_MOST_MEMBERS, len(self._data) - self.at):
            raise ValueError("a list is longer than its record")
        return max(found, 0)

    def tags(self) -> None:
        for _ in range(self.unsigned()):
            self.unsigned()
            self.sized(self.unsigned())
