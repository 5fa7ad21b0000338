"""What the brokers' error codes mean, in words for the person who operates the cluster."""

from __future__ import annotations

import kafka.errors as kafka_errors

_MEANINGS = {
    3: "the topic or partition does not exist",
    5: "the partition has no leader",
    6: "the partition's leader is moving",
    9: "the replica is not available",
    14: "the group's coordinator is loading its groups",
    15: "the group's coordinator is not available",
    16: "the group's coordinator is moving",
    29: "not permitted: needs DESCRIBE on the topic",
    30: "not permitted: needs DESCRIBE on the group",
    31: "not permitted: needs DESCRIBE on the cluster",
    69: "the group does not exist",
    74: "the partition's leader is moving",
    75: "the partition's leader is moving",
    78: "the partition's new leader does not know yet how far its log is committed",
}

NO_LEADER = _MEANINGS[5]
NOT_TOLD = "the leader did not tell of the partition"

GROUP_NOT_FOUND = 69
TRANSACTION_NOT_FOUND = 105
COORDINATOR_MOVES = frozenset({14, 15, 16})
"""The broker that was asked does not coordinate the group just now: another one may."""

LEADER_MOVES = frozenset({5, 6, 9, 74, 75, 78})
"""The broker that was asked does not lead the partition just now, or has only begun to."""

NOT_PERMITTED = frozenset({29, 30, 31})


def reason(code: int) -> str:
    """Say what an error code of Kafka's protocol means."""
    return _MEANINGS.get(code) or str(kafka_errors.for_code(code).message).lower()
