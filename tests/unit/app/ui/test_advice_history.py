"""What became of advice, as the pages read it."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
from deltalake import write_deltalake

from app.data.context import View
from app.ui.advice.advice_history import as_standing, listed, outcomes, with_standing
from lake.schemas.current import CHANGED_ADVICE
from lake.schemas.grain import Grain
from lake.schemas.model import Table
from lake.schemas.tables import GROUP_HISTORY, RECOMMENDATIONS
from lake.storage.append import conform
from lake.storage.store import Lake
from scaling.advice.follow_up import AdviceOutcome, Followed
from tests.unit.app.views_of import NOW

GIVEN = NOW - timedelta(hours=4)


def minutes(view: View, group: str, members: dict[int, int]) -> None:
    """Write minutes of a group: how many members there were, by minutes after the advice."""
    rows = pl.DataFrame(
        {
            "cluster": "east",
            "group": group,
            "grain_seconds": Grain.MINUTE.seconds,
            "window_start": [GIVEN + timedelta(minutes=minute) for minute in members],
            "members_last": list(members.values()),
        }
    )
    store(view, GROUP_HISTORY, rows)


def store(view: View, table: Table, rows: pl.DataFrame) -> None:
    types = {name: type_ for name, type_ in table.polars_schema.items() if name in rows.columns}
    made = conform(table, rows.cast(types))
    write_deltalake(view.lake.uri(table), made.to_arrow(), mode="append", partition_by=["date"])


def advice(
    group: str, proposed: int, *, until: timedelta = timedelta(hours=2)
) -> dict[str, object]:
    return {
        **{"cluster": "east", "subject_kind": "group", "subject": group, "kind": "add_consumers"},
        **{"quantity": "consumers", "current": 2, "proposed": proposed, "number": 0},
        **{"severity": "WATCH", "saving": 0},
        **{"valid_from": GIVEN, "confirmed_at": GIVEN + until},
    }


def test_each_advice_is_judged_by_its_own_groups_history(view: View) -> None:
    minutes(view, "followed", dict.fromkeys(range(-30, 30), 2) | dict.fromkeys(range(30, 120), 4))
    minutes(view, "ignored", dict.fromkeys(range(-30, 120), 2))
    given = [advice("ignored", 4), advice("followed", 4), advice("never seen", 4)]
    rows = pl.DataFrame(
        given, schema={name: RECOMMENDATIONS.polars_schema[name] for name in given[0]}
    )
    found = [one.followed for one in outcomes(view, rows)]
    assert found[1] is Followed.FOLLOWED
    assert found[0] is not Followed.FOLLOWED
    assert found[2] is not Followed.FOLLOWED


def test_what_came_hours_after_advice_ended_does_not_count(view: View) -> None:
    minutes(view, "late", dict.fromkeys(range(-30, 200), 2) | dict.fromkeys(range(200, 230), 4))
    given = [advice("late", 4, until=timedelta(minutes=15)), advice("newer", 4)]
    rows = pl.DataFrame(
        given, schema={name: RECOMMENDATIONS.polars_schema[name] for name in given[0]}
    )
    found, _ = outcomes(view, rows)
    assert found.followed is Followed.NOT_FOLLOWED


def test_advice_stands_by_the_newest_round_and_not_by_those_that_are_shown(view: View) -> None:
    minutes(view, "over", dict.fromkeys(range(-30, 200), 2))
    given = advice("over", 4)
    later = {**given, "kind": "keep", "proposed": 2, "confirmed_at": NOW}
    frame = pl.DataFrame(
        [given, later], schema={name: RECOMMENDATIONS.polars_schema[name] for name in given}
    )
    rows = frame.with_columns(pl.col("valid_from").dt.date().alias("date"))
    store(view, RECOMMENDATIONS, rows)
    (found,) = outcomes(view, frame.head(1))
    assert found.followed is Followed.NOT_FOLLOWED


def stored(*rows: dict[str, object]) -> pl.DataFrame:
    frame = pl.DataFrame(list(rows), infer_schema_length=None)
    types = RECOMMENDATIONS.polars_schema
    return frame.cast({name: types[name] for name in frame.columns})


def test_what_is_advised_now_is_in_the_list_and_stands_there_once() -> None:
    """Given a change that ended and is advised anew, one that goes on, and one of another group."""
    ended = advice("slow", 4, until=timedelta(minutes=20))
    goes_on, gone = advice("late", 6), advice("gone", 3)
    anew = {**ended, "valid_from": NOW, "confirmed_at": NOW}
    still = {**goes_on, "confirmed_at": NOW}
    standing = stored(anew, still)

    rows = with_standing(stored(ended, goes_on, gone), standing)

    assert rows.select("subject", "valid_from", "confirmed_at").rows() == [
        ("slow", NOW, NOW),
        ("late", GIVEN, NOW),
        ("slow", GIVEN, GIVEN + timedelta(minutes=20)),
        ("gone", GIVEN, GIVEN + timedelta(hours=2)),
    ]
    found = [AdviceOutcome(followed=Followed.WITHDRAWN)] * 4
    assert [one.followed for one in as_standing(found, rows, standing)] == [
        *(Followed.STANDS, Followed.STANDS, Followed.ANEW, Followed.WITHDRAWN)
    ]


def test_what_was_advised_before_its_group_was_advised_anew_stands_no_more() -> None:
    """Given a round that asks for more consumers, and since then nobody reads."""
    more, unnumbered = advice("stopped", 4), {**advice("stopped", 4), "proposed": None}
    start = {**more, "kind": "start_consumers", "current": 0, "valid_from": NOW}
    rows = stored(more, {**unnumbered, "kind": "hot_partition"}, advice("other", 4))
    found = [AdviceOutcome(followed=Followed.STANDS)] * 3
    now = stored(start, advice("other", 4))
    assert [one.followed for one in as_standing(found, rows, now)] == [
        *(Followed.WITHDRAWN, Followed.ENDED, Followed.STANDS)
    ]


def test_what_the_round_gave_and_is_kept_as_it_is_now_stands_nowhere() -> None:
    """Given a round that asks for more consumers, and newer advice to keep them."""
    keep = {**advice("late", 2), "kind": "keep", "valid_from": NOW}
    found = [AdviceOutcome(followed=Followed.STANDS)]
    (one,) = as_standing(found, stored(advice("late", 4)), stored(keep))
    assert one.followed is Followed.WITHDRAWN


def test_every_page_says_that_what_is_advised_now_stands(view: View) -> None:
    """Given a round, and a group that was advised on anew since: no table of rounds has that."""
    given = stored({**advice("late", 4), "confirmed_at": NOW - timedelta(minutes=5)})
    store(view, RECOMMENDATIONS, given.with_columns(pl.col("valid_from").dt.date().alias("date")))
    anew = {**advice("late", 6), "valid_from": NOW, "confirmed_at": NOW}
    anew |= {"kind": "start_consumers"}
    changed = conform(CHANGED_ADVICE, stored(anew))
    Lake(view.settings.lake).current.replace(CHANGED_ADVICE, "east", changed)

    rows = listed(view)

    assert rows["proposed"].to_list() == [6, 4]
    found = [one.followed for one in outcomes(view, rows)]
    assert found == [Followed.STANDS, Followed.WITHDRAWN]


def test_what_was_followed_stays_so() -> None:
    rows = stored(advice("followed", 4))
    found = [AdviceOutcome(followed=Followed.FOLLOWED, at=NOW)]
    assert as_standing(found, rows, rows) == found
