"""Which names are watched, which announce dead letters, and which part of the groups is whose."""

from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from config.parts import GroupSelection
from config.settings import DEAD_LETTER_PATTERN, Selection


@pytest.mark.parametrize(
    ("name", "watched"),
    [("orders", True), ("orders.eu", True), ("my-orders", False), ("orders.test", False)],
)
def test_selection_matches_whole_names(name: str, watched: bool) -> None:
    selection = Selection(include=["orders.*"], exclude=[r".*\.test"])

    assert selection.selects(name) is watched


@pytest.mark.parametrize(
    ("topic", "announced"),
    [
        ("orders.dlq", True),
        ("orders-dlt", True),
        ("orders.DLT", True),
        ("dead-letter-topic-orders", True),
        ("orders_errors", True),
        ("parking-lot", True),
        ("terrors", False),
        ("orders", False),
        ("dlquery", False),
    ],
)
def test_names_that_announce_a_dead_letter_topic(topic: str, announced: bool) -> None:
    assert bool(re.search(DEAD_LETTER_PATTERN, topic)) is announced


@pytest.mark.parametrize(
    ("topic", "announced"),
    [
        ("orders.errors", True),
        ("orders-error", True),
        ("orders.error.v2", True),
        ("errors", True),
        ("error.orders.billing", True),
        ("app.error.codes", False),
        ("audit.errors.by-country", False),
        ("terrors", False),
    ],
)
def test_errors_announce_dead_letters_at_either_end_of_a_name(topic: str, announced: bool) -> None:
    assert bool(re.search(DEAD_LETTER_PATTERN, topic)) is announced


def test_shards_share_out_every_group_once_and_for_ever() -> None:
    names = [f"group-{number}" for number in range(2_000)] + ["été", "\udcff", ""]
    shards = [GroupSelection(shard=f"{part}/4", exclude=["group-7"]) for part in range(1, 5)]
    owners = {name: [shard.selects(name) for shard in shards].count(True) for name in names}
    assert owners.pop("group-7") == 0
    assert set(owners.values()) == {1}
    assert all(400 < sum(map(shard.selects, names)) < 600 for shard in shards)
    # What was decided must not change with a version: another installation may run an older one.
    assert [shard.selects("billing") for shard in shards] == [False, False, True, False]


@pytest.mark.parametrize("shard", ["0/4", "5/4", "1/0", "1", "a/b", "1/4/2"])
def test_a_part_that_there_is_not_is_refused(shard: str) -> None:
    with pytest.raises(ValidationError, match="shard"):
        GroupSelection(shard=shard)
