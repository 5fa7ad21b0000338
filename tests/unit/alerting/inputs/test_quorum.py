"""Which brokers the controllers' quorum cannot lose."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from alerting.inputs.frames import Frames
from alerting.inputs.quorum import decisive_brokers
from lake.schemas.tables import BROKERS, QUORUM
from tests.unit.alerting.current.sample_rows import NOW, rows

FETCHED = NOW - timedelta(seconds=20)


def voter(node: int, **more: Any) -> dict[str, Any]:
    return {"node_id": node, "role": "voter", "last_fetch_at": FETCHED, **more}


LEADER = voter(1, role="leader", last_fetch_at=None)


def decisive(
    *nodes: dict[str, Any], ago: float = 30.0, **alive: bool | None
) -> frozenset[int] | None:
    """Return them for nodes of the quorum, and whether each broker answers."""
    brokers = [
        {"broker_id": int(name.removeprefix("b")), "is_alive": is_alive}
        for name, is_alive in alive.items()
    ]
    tables = {"quorum": rows(QUORUM, *nodes, ago=ago), "brokers": rows(BROKERS, *brokers)}
    return decisive_brokers(Frames(cluster="c", now=NOW.timestamp(), tables=tables))


def test_with_one_of_three_missing_each_other_decides() -> None:
    three = (LEADER, voter(2), voter(3))
    assert decisive(*three, b1=True, b2=False, b3=True) == {1, 3}
    assert decisive(*three, b1=True, b2=True, b3=True) == frozenset()
    five = (*three, voter(4), voter(5))
    assert decisive(*five, b1=True, b2=False, b3=True, b4=True, b5=True) == frozenset()


def test_controllers_of_their_own_run_on_without_brokers() -> None:
    nodes = (LEADER, voter(2), voter(3), {**voter(10), "role": "observer"})
    silent = voter(3, last_fetch_at=FETCHED - timedelta(minutes=5))
    assert decisive(*nodes[:2], silent, nodes[3], b10=True, b11=False) == frozenset()


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param((), id="no voter was read"),
        pytest.param((voter(1), voter(2), voter(3)), id="no leader"),
        pytest.param((LEADER, voter(2), voter(9, last_fetch_at=None)), id="one may run or not"),
    ],
)
def test_unknown_stays_unknown(nodes: tuple[dict[str, Any], ...]) -> None:
    assert decisive(*nodes, b1=True, b2=True) is None


def test_what_was_lost_or_read_long_ago_tells_nothing() -> None:
    three = (LEADER, voter(2), voter(3))
    assert decisive(*three, b1=True, b2=False, b3=False) is None
    assert decisive(*three, ago=600.0, b1=True, b2=False, b3=True) is None
