"""What the loss of one more broker does to the controllers' quorum: pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from alerting.inputs.frames import Frames
from lake.schemas.tables import BROKERS, QUORUM

_SILENT = timedelta(seconds=10)
"""A voter fetches from the leader twice a second."""

_VOTES = ("leader", "voter")


def decisive_brokers(frames: Frames) -> frozenset[int] | None:
    """Return the brokers each of whose loss leaves the controllers' quorum without a majority.

    None where nobody knows: no voter was read, the quorum had no leader or has no majority by now,
    or of one of its voters it is not known whether it runs. Controllers that are no brokers run
    on without them.
    """
    nodes = frames.newest(QUORUM)
    voters = [row for row in nodes.iter_rows(named=True) if row["role"] in _VOTES]
    if all(row["role"] != "leader" for row in voters):
        return None
    alive = dict(frames.newest(BROKERS).select("broker_id", "is_alive").iter_rows())
    # By one clock, the leader's: every node fetches from it.
    newest = nodes["last_fetch_at"].max()
    runs = {row["node_id"]: _runs(row, alive, newest) for row in voters}
    running = {node for node, is_so in runs.items() if is_so}
    majority = len(voters) // 2 + 1
    if None in runs.values() or len(running) < majority:
        return None
    return frozenset(running & alive.keys()) if len(running) == majority else frozenset()


def _runs(voter: Mapping[str, Any], alive: Mapping[int, bool | None], newest: Any) -> bool | None:
    is_alive = alive.get(voter["node_id"])
    if is_alive is not None:
        return is_alive  # polled more often than the quorum
    if voter["role"] == "leader":
        return True
    fetched = voter["last_fetch_at"]
    if not isinstance(fetched, datetime) or not isinstance(newest, datetime):
        return None
    return newest - fetched <= _SILENT
