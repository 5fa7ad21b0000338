from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from alerting.current.changes import recent_changes
from lake.schemas.current import CLUSTER_STATUS, GROUP_STATUS, RECENT_CHANGES

START = datetime(2026, 1, 1, tzinfo=UTC)

Known = tuple[pl.DataFrame, pl.DataFrame]


def known(
    members: dict[str, int | None], brokers: int | None = 3, missing: int = 0, topics: int = 9
) -> Known:
    groups = pl.DataFrame(
        [
            {
                "cluster": "c",
                "group": group,
                "status": "OK",
                "members": number,
                "evaluated_at": START,
            }
            for group, number in members.items()
        ],
        schema=GROUP_STATUS.polars_schema,
    )
    cluster = pl.DataFrame(
        [
            {
                "cluster": "c",
                "brokers": brokers,
                "missing_brokers": list(range(missing)),
                "topics": topics,
                "evaluated_at": START,
            }
        ],
        schema=CLUSTER_STATUS.polars_schema,
    )
    return groups, cluster


def changes(*states: Known, every: timedelta = timedelta(minutes=1)) -> list[tuple[object, ...]]:
    found = pl.DataFrame(schema=RECENT_CHANGES.polars_schema)
    before: Known = (
        pl.DataFrame(schema=GROUP_STATUS.polars_schema),
        pl.DataFrame(schema=CLUSTER_STATUS.polars_schema),
    )
    for number, state in enumerate(states):
        found = recent_changes(found, before, state, START + number * every)
        before = state
    return found.select("kind", "name", "before", "after").rows()


def test_what_changed_is_listed_newest_first() -> None:
    assert changes(
        known({"g": 2}),
        known({"g": 0}),
        known({"g": 0}, missing=1),
        known({"g": 4}, topics=10),
    ) == [
        ("brokers", "0", 2, 3),
        ("members", "g", 0, 4),
        ("topics", "", 9, 10),
        ("brokers", "0", 3, 2),
        ("members", "g", 2, 0),
    ]


def test_the_brokers_that_went_are_named_and_not_those_that_came() -> None:
    before, after = known({}, brokers=5), known({}, brokers=5)
    lost = after[1].with_columns(missing_brokers=pl.Series([[3, 4]]))
    one_back = before[1].with_columns(missing_brokers=pl.Series([[1]]))
    assert changes((before[0], one_back), (after[0], lost)) == [("brokers", "3, 4", 4, 3)]


def test_the_first_evaluation_and_new_groups_are_no_change() -> None:
    assert changes(known({"g": 2}), known({"g": 2, "new": 5}), known({"new": 5})) == []


def test_what_is_unknown_is_no_change() -> None:
    assert changes(known({"g": 2}), known({"g": None}, brokers=None), known({"g": 3})) == []


def test_changes_are_forgotten_after_an_hour() -> None:
    states = [known({"g": number}) for number in range(1, 5)]
    assert changes(*states, every=timedelta(minutes=40)) == [
        ("members", "g", 3, 4),
        ("members", "g", 2, 3),
    ]
