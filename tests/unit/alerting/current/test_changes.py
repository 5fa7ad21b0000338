from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from alerting.current.changes import recent_changes
from lake.schemas.current import GROUP_STATUS, RECENT_CHANGES

START = datetime(2026, 1, 1, tzinfo=UTC)


def known(members: dict[str, int | None]) -> pl.DataFrame:
    return pl.DataFrame(
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


def changes(
    *states: pl.DataFrame, every: timedelta = timedelta(minutes=1)
) -> list[tuple[object, ...]]:
    found = pl.DataFrame(schema=RECENT_CHANGES.polars_schema)
    before = pl.DataFrame(schema=GROUP_STATUS.polars_schema)
    for number, state in enumerate(states):
        found = recent_changes(found, before, state, START + number * every)
        before = state
    return found.select("kind", "name", "before", "after").rows()


def test_what_changed_is_listed_newest_first() -> None:
    assert changes(known({"g": 2}), known({"g": 0}), known({"g": 0}), known({"g": 4})) == [
        ("members", "g", 0, 4),
        ("members", "g", 2, 0),
    ]


def test_the_first_evaluation_and_new_groups_are_no_change() -> None:
    assert changes(known({"g": 2}), known({"g": 2, "new": 5}), known({"new": 5})) == []


def test_what_is_unknown_is_no_change() -> None:
    assert changes(known({"g": 2}), known({"g": None}), known({"g": 3})) == []


def test_changes_are_forgotten_after_an_hour() -> None:
    states = [known({"g": number}) for number in range(1, 5)]
    assert changes(*states, every=timedelta(minutes=40)) == [
        ("members", "g", 3, 4),
        ("members", "g", 2, 3),
    ]
