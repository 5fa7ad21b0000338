"""What members of classic groups ask for and are given, as the consumer protocol writes it."""

from __future__ import annotations

import struct


def decode_assignment(payload: bytes) -> list[tuple[str, tuple[int, ...]]]:
    """Return the topics of an assignment with their partitions.

    The format (ConsumerProtocolAssignment, version 0 on): version, then topics, each with its name
    and its partitions, then the assignor's own data, which is not looked at.

    Raises:
        ValueError: The payload is something else: it comes from clients, unchecked.
    """
    if not payload:
        return []
    found = []
    try:
        _, topics = struct.unpack_from(">hi", payload)
        position = 6
        for _ in range(topics):
            name, position = _name(payload, position)
            (count,) = struct.unpack_from(">i", payload, position)
            position += 4
            if not 0 <= count <= (len(payload) - position) // 4:
                raise ValueError("not an assignment: partitions end too early")
            found.append((name, struct.unpack_from(f">{count}i", payload, position)))
            position += 4 * count
    except struct.error as error:
        raise ValueError(f"not an assignment: {error}") from None
    return found


def decode_subscription(payload: bytes) -> list[str]:
    """Return the topics that a member subscribes to.

    The format (ConsumerProtocolSubscription, version 0 on): version, then the topics' names, then
    what is not looked at.

    Raises:
        ValueError: The payload is something else: it comes from clients, unchecked.
    """
    found = []
    try:
        _, topics = struct.unpack_from(">hi", payload)
        position = 6
        for _ in range(topics):
            name, position = _name(payload, position)
            found.append(name)
    except struct.error as error:
        raise ValueError(f"not a subscription: {error}") from None
    return found


def _name(payload: bytes, position: int) -> tuple[str, int]:
    """Return the name at a position, and where it ends."""
    (length,) = struct.unpack_from(">h", payload, position)
    begin, end = position + 2, position + 2 + length
    if length < 0 or end > len(payload):
        raise ValueError("not what a consumer writes: a name ends too early")
    return payload[begin:end].decode(), end
