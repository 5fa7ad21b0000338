"""Brokers that are missing, as against those that were taken out of the cluster."""

from __future__ import annotations

from types import SimpleNamespace as Answer
from typing import Any

import pytest

from collectors.errors import CollectorError, NoAnswerError, UnsupportedError
from collectors.kafka.poll import rare_reads
from tests.unit.collectors.kafka.poll import test_hostile_cluster
from tests.unit.collectors.kafka.poll.small_cluster import BROKERS, answers


class Cluster:
    """Brokers 1 and 2, which hold all replicas that may be seen, and broker 3, which holds none."""

    def __init__(self) -> None:
        self.polled = test_hostile_cluster.Cluster()
        self.said = answers()

    def poll(self, alive: tuple[int, ...], registered: tuple[int, ...]) -> dict[str, Any]:
        """Return the row of broker 3, and the events.

        Args:
            alive: Who is in the metadata.
            registered: Who is registered.
        """
        self.said["MetadataRequest"].brokers = [
            Answer(node_id=n, host="k", port=9000 + n, rack=None) for n in alive
        ]
        known = [Answer(broker_id=n, is_fenced=n not in alive) for n in registered]
        self.said["DescribeClusterRequest"] = Answer(error_code=0, brokers=known)
        rows = self.polled.poll(self.said).rows
        row = [one for one in rows["brokers"].values() if one["broker_id"] == 3]
        events = [(one["kind"], one["before"]) for one in rows["cluster_events"].values()]
        return {"row": row[0] if row else None, "events": events}


def test_a_dead_broker_is_missing_until_it_is_unregistered() -> None:
    cluster = Cluster()
    assert cluster.poll((*BROKERS, 3), (*BROKERS, 3))["row"]["registration"] == "active"
    for _ in range(3):
        row = cluster.poll(BROKERS, (*BROKERS, 3))["row"]
        assert row is not None
        assert (row["is_alive"], row["registration"], row["port"]) == (False, "fenced", 9003)
    found = cluster.poll(BROKERS, BROKERS)
    assert found["row"] is None
    assert ("broker unregistered", "k:9003") in found["events"]


@pytest.mark.parametrize(
    ("error", "is_kept"),
    [
        pytest.param(UnsupportedError("too old"), False, id="unsupported: by its replicas"),
        pytest.param(NoAnswerError("silent"), True, id="unknown for once: nothing is forgotten"),
    ],
)
def test_where_nobody_tells_who_is_registered(
    error: CollectorError, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    cluster = Cluster()
    cluster.poll((*BROKERS, 3), (*BROKERS, 3))
    monkeypatch.setattr(rare_reads, "read_registrations", fail)
    row = cluster.poll(BROKERS, ())["row"]
    assert (row is not None) == is_kept
