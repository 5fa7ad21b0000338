"""Where keys go when a topic gets more partitions: the default partitioner is hash mod P."""

from __future__ import annotations

from math import gcd


def moved_share(present: int, proposed: int) -> float:
    """Return the share of keys that change their partition.

    A key with hash h lies in h mod P. Of the lcm(P, P') residues exactly min(P, P') are the same
    modulo both, so that 1 - min(P, P') / lcm(P, P') of the keys move; with P' = kP that is
    1 - 1/k.

    Args:
        present: P, partitions at present.
        proposed: P', partitions afterwards.

    Raises:
        ValueError: One of them is below 1.
    """
    if present < 1 or proposed < 1:
        raise ValueError("a topic has one partition at least")
    common = present * proposed // gcd(present, proposed)
    return 1 - min(present, proposed) / common


def targets(partition: int, present: int, times: int) -> tuple[int, ...]:
    """Return where the keys of a partition may lie after the partitions were multiplied.

    h mod kP is congruent to h mod P modulo P: from p only to p + jP, for j from 0 to k - 1. Each
    of these gets 1/k of p's keys.

    Args:
        partition: p.
        present: P, partitions at present.
        times: k.

    Raises:
        ValueError: There is no such partition, or ``times`` is below 1.
    """
    if not 0 <= partition < present or times < 1:
        raise ValueError(f"no partition {partition} of {present}, or not {times} times as many")
    return tuple(partition + j * present for j in range(times))
