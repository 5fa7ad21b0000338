"""The records of ``__consumer_offsets``.

Keys begin with a record type, values with a version. Offset commits (types 0 and 1) are read here,
records of groups and members by ``group_records``; those of all other types are stepped over.

Source of the formats: the schemas in Kafka's group coordinator (``common/message/*.json``).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from collectors.kafka.commit_log.group_records import TYPES, GroupRecord, read_group_record
from collectors.kafka.protocol.fetch.record_batches import Batch

OFFSET_COMMIT = 1
"""The last of the two record types that are offset commits; 0 has the same key."""

NO_TIME = -1
"""In place of a commit's time where there is none."""

# version, offset, leaderEpoch, metadata's length + 1 (compact), commitTimestamp: the whole of a
# commit of version 4 without metadata but for its tags.
_PLAIN_V4 = struct.Struct(">hqiBq")
_PLAIN_V3 = struct.Struct(">hqihq")
_PLAIN_V4_SIZE, _PLAIN_V3_SIZE = _PLAIN_V4.size, _PLAIN_V3.size
_SHORT = struct.Struct(">h")
_INT = struct.Struct(">i")
_LONG = struct.Struct(">q")
_VERSION_AND_OFFSET = struct.Struct(">hq")

MALFORMED = (ValueError, IndexError, struct.error)
"""What reading a record raises when its bytes make no sense."""


class CommitKey(NamedTuple):
    """What an offset was committed for."""

    group: str
    topic: str
    partition: int


class Commits:
    """Offset commits in the order of the log, as columns.

    Attributes:
        offsets: What was committed; of no meaning for a deletion.
        times: When, in milliseconds since 1970 by the broker's clock.
        deletions: Which entries make what was known void: tombstones (the offset expired, or the
            group was deleted), and values of a version that is not known.
    """

    __slots__ = ("deletions", "keys", "log_offsets", "offsets", "times")

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.offsets: list[int] = []
        self.times: list[int] = []
        self.log_offsets: list[int] = []
        self.deletions: list[int] = []

    def without(self, key: bytes, before: int) -> Commits:
        """Return the same commits but those for one key in batches before a log offset."""
        rest = Commits()
        deletions = set(self.deletions)
        for place, each in enumerate(self.keys):
            if each == key and self.log_offsets[place] < before:
                continue
            if place in deletions:
                rest.deletions.append(len(rest.keys))
            rest.keys.append(each)
            rest.offsets.append(self.offsets[place])
            rest.times.append(self.times[place])
            rest.log_offsets.append(self.log_offsets[place])
        return rest


def read_commits(batch: Batch, into: Commits) -> list[GroupRecord]:
    """Read the records of one batch; return those of groups.

    This is the inner loop over every commit of a cluster, hence its plain form: lengths are read
    in place (zigzag varints; those of one byte without a call), and what is not needed is
    stepped over.

    Raises:
        ValueError, IndexError, struct.error: The records make no sense (``MALFORMED``); what
            was read before stays in ``into``.
    """
    data, at, end = batch.data, batch.start, batch.end
    keys, offsets, times = into.keys, into.offsets, into.times
    add_key, add_offset, add_time = keys.append, offsets.append, times.append
    plain, plain_size = _PLAIN_V4.unpack_from, _PLAIN_V4_SIZE
    before = len(keys)
    groups = []
    try:
        for _ in range(batch.records):
            size = data[at]
            at += 1
            if size >= 0x80:
                size, at = _varint(data, at - 1)
            start = at
            following = at + (size >> 1)
            if size & 1 or following > end:
                raise ValueError("a record is longer than its batch")
            at += 1  # attributes
            while data[at] >= 0x80:  # timestampDelta
                at += 1
            at += 1
            while data[at] >= 0x80:  # offsetDelta
                at += 1
            at += 1
            size = data[at]
            at += 1
            if size >= 0x80:
                size, at = _varint(data, at - 1)
            key_at = at
            at += size >> 1
            if size & 1 or size < 4 or at > following:
                raise ValueError("a record's key is missing or longer than the record")
            if data[key_at + 1] > OFFSET_COMMIT or data[key_at]:
                if data[key_at + 1] in TYPES and not data[key_at]:
                    groups.append(read_group_record(batch, start))
                at = following
                continue
            add_key(data[key_at:at])
            size = data[at]
            at += 1
            if size >= 0x80:
                size, at = _varint(data, at - 1)
            if size & 1:
                if size != 1:
                    raise ValueError("a record's value has a negative length")
                into.deletions.append(len(offsets))
                add_offset(NO_TIME)
                add_time(NO_TIME)
                at = following
                continue
            size >>= 1
            if at + size > following:
                raise ValueError("a record's value is longer than the record")
            if size >= plain_size:
                version, offset, _epoch, metadata, time = plain(data, at)
                if version != 4 or metadata != 1:
                    offset, time = _value(data, at, at + size)
            else:
                offset, time = _value(data, at, at + size)
            if time < 0:  # of a version that is not known: what was known before is outdated
                into.deletions.append(len(offsets))
            add_offset(offset)
            add_time(time)
            at = following
    finally:
        del keys[len(times) :]  # a key whose value was not understood
        into.log_offsets.extend([batch.base_offset] * (len(keys) - before))
    if at != end:
        raise ValueError("the batch is longer than its records")
    return groups


def ends_in_commit(batch: Batch) -> bool:
    """Return what a control batch does with its producer's transaction: commit it, or abort it."""
    data = batch.data
    _, at = _varint(data, batch.start)
    at += 1
    for _ in range(2):  # timestampDelta, offsetDelta
        _, at = _varint(data, at)
    size, at = _varint(data, at)
    if size < 8 or at + 4 > batch.end:
        raise ValueError("a control record has no type")
    (kind,) = _SHORT.unpack_from(data, at + 2)  # after the version
    return bool(kind == 1)  # 0 is an abort


def decode_key(key: bytes) -> CommitKey:
    """Read the key of an offset commit."""
    group, at = _string(key, 2)
    topic, at = _string(key, at)
    if at + 4 != len(key):
        raise ValueError("the key of a commit has a wrong length")
    return CommitKey(group, topic, _INT.unpack_from(key, at)[0])


def _string(key: bytes, at: int) -> tuple[str, int]:
    (size,) = _SHORT.unpack_from(key, at)
    end = at + 2 + size
    if size < 0 or end > len(key):
        raise ValueError("a name in the key of a commit is cut off")
    return key[at + 2 : end].decode(), end


def _value(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Read offset and time of a commit of any version."""
    if end - at >= _PLAIN_V3_SIZE:
        version, offset, _epoch, metadata, time = _PLAIN_V3.unpack_from(data, at)
        if version == 3 and metadata == 0:
            return offset, time
    version, offset = _VERSION_AND_OFFSET.unpack_from(data, at)
    if version == 4:
        size, at = _unsigned(data, at + 14)
        at += max(size - 1, 0)  # compact strings have their length plus one
    elif version == 3:
        at += 14
        at += 2 + max(_SHORT.unpack_from(data, at)[0], 0)
    elif 0 <= version <= 2:
        at += 10
        at += 2 + max(_SHORT.unpack_from(data, at)[0], 0)
    else:
        return offset, NO_TIME
    if at + 8 > end:
        raise ValueError("the value of a commit is cut off")
    return offset, _LONG.unpack_from(data, at)[0]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a varint without undoing its zigzag: twice the number, odd where it is negative."""
    return _unsigned(data, at, 10)


def _unsigned(data: bytes, at: int, longest: int = 5) -> tuple[int, int]:
    number = 0
    for place in range(longest):
        byte = data[at + place]
        number |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return number, at + place + 1
    raise ValueError("a number has too many bytes")
