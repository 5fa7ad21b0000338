"""What single checks say of a cluster: of brokers, of leaders, of consumers that are idle."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from alerting.checks.model import CheckInput
from alerting.checks.registry import CHECKS
from lake.schemas.tables import (
    BROKERS,
    GROUPS,
    QUORUM,
)
from tests.unit.alerting.checks.check_world import (
    CASES,
    TRUE_UNTIL,
    Case,
    Row,
    always,
    at,
    frame,
)
from tests.unit.alerting.checks.polled_world import world
from tests.unit.alerting.evaluate.polled_rows import classified


def test_a_missing_broker_says_which_loss_ends_the_quorum() -> None:
    frames = world(CASES["broker_missing"], TRUE_UNTIL)
    roles = {1: "voter", 2: "leader", 3: "voter"}
    nodes: list[tuple[int, Row]] = [
        (TRUE_UNTIL, {"node_id": node, "role": role, "last_fetch_at": at(TRUE_UNTIL)})
        for node, role in roles.items()
    ]
    known = replace(frames, tables={**frames.tables, "quorum": frame(QUORUM, nodes)})
    given = CheckInput(frames=known, classify=classified)
    (found,) = CHECKS["broker_missing"].observe(given)
    assert found.detail.startswith(
        "1 of 2 brokers is left. If broker 2 fails too, writes with acks=all stop on 1 partition, "
        "and the controllers' quorum has no majority: no other leader is elected, no topic can be "
        "changed."
    )


@pytest.mark.parametrize(
    ("missing", "cause"),
    [
        (None, "Brokers were restarted and leadership has not moved back."),
        (2, "The preferred broker of these partitions is missing."),
    ],
)
def test_leaders_do_not_move_back_to_a_broker_that_is_missing(
    missing: int | None, cause: str
) -> None:
    frames = world(CASES["leader_imbalance"], TRUE_UNTIL)
    alive = pl.col("broker_id").ne(missing) if missing else pl.lit(True)
    brokers = frames.tables[BROKERS.name].with_columns(alive.alias("is_alive"))
    known = replace(frames, tables={**frames.tables, BROKERS.name: brokers})
    given = CheckInput(frames=known, classify=classified)
    (found,) = CHECKS["leader_imbalance"].observe(given)
    assert found.cause == cause
    assert found.step.startswith("Start the missing broker" if missing else "Run kafka-leader")


@pytest.mark.parametrize(
    ("group", "is_known", "said"),
    [
        pytest.param(
            {"members": 3, "idle_members": 2}, True, "3 members share 1 partition.", id="more"
        ),
        pytest.param({"members": 1, "idle_members": 0}, True, None, id="all have one"),
        pytest.param({"members": 1, "idle_members": 1}, False, None, id="not assigned yet"),
        pytest.param({"members": 3, "idle_members": 3}, False, None, id="none assigned yet"),
        pytest.param(
            {"members": 3, "idle_members": 2, "state": "preparing_rebalance"},
            False,
            None,
            id="moves",
        ),
    ],
)
def test_consumers_are_idle_where_there_are_more_than_partitions_once_these_are_assigned(
    group: Row, is_known: bool, said: str | None
) -> None:
    frames = world(Case(true={GROUPS: always(**group)}), TRUE_UNTIL)
    found = list(CHECKS["idle_consumers"].evaluate(CheckInput(frames=frames, classify=classified)))
    assert [one.detail for one in found if one.value] == ([said] if said else [])
    assert all(one.value is not None for one in found) is is_known


def test_an_assignor_may_leave_some_of_few_consumers_without_a_partition() -> None:
    frames = world(Case(true={GROUPS: always(members=3, idle_members=1)}), TRUE_UNTIL)
    given = CheckInput(frames=frames, classify=classified)
    wide = {
        key: replace(one, partitions=[*one.partitions] * 3) for key, one in given.statuses.items()
    }
    (many,) = CHECKS["idle_consumers"].evaluate(given)
    assert many.cause == "There are more consumers than partitions."
    few = CheckInput(frames=frames, classify=lambda frames: wide)
    (found,) = CHECKS["idle_consumers"].evaluate(few)
    assert (found.value, found.detail) == (1.0, "3 members share 3 partitions.")
    assert found.cause.startswith("The group's assignor gives some members no partition")
