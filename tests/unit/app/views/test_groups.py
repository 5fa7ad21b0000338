"""The list of consumer groups, shaped from facts made by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from alerting.status.model import Status
from app.style.columns import NEVER, NONE
from app.ui import group_list
from app.ui.brief_reasons import with_brief_reasons
from tests.unit.app.views.made_rows import at, partition_statuses, statuses


def test_groups_are_listed_worst_first() -> None:
    found = group_list.rows(
        statuses(
            {"group": "fine", "lag": 3},
            {"group": "unsure", "status": "UNKNOWN", "members": None, "idle_members": None},
            {"group": "slow", "status": "FALLING_BEHIND", "time_lag_seconds": 60.0},
            {"group": "slower", "status": "FALLING_BEHIND", "time_lag_seconds": 600.0},
            {"group": "undated", "status": "FALLING_BEHIND"},
            {"group": "lost", "status": "LOSING_DATA", "lag": 1},
        )
    )
    assert found["group"].to_list() == ["lost", "slower", "slow", "undated", "unsure", "fine"]
    unsure = found.row(4, named=True)
    assert (unsure["lag"], unsure["members"], unsure["idle_members"]) == (None, None, None)
    assert unsure["label"] == ["? unknown"]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        pytest.param({"lag": 9, "drain_seconds": 4.0}, 4.0, id="it is drained"),
        pytest.param(
            {
                **{"status": "STALLED", "lag": 9},
                **{"growth_per_second": 1.0, "arrival_per_second": 9.0},
            },
            NEVER,
            id="it grows",
        ),
        pytest.param(
            {"lag": 9, "growth_per_second": 1.0, "arrival_per_second": 9.0},
            NONE,
            id="it grows and is not late",
        ),
        pytest.param(
            {"lag": 9, "growth_per_second": 0.1, "arrival_per_second": 9.0}, NONE, id="it breathes"
        ),
        pytest.param(
            {
                **{"status": "FALLING_BEHIND", "lag": 9},
                **{"growth_per_second": 0.1, "arrival_per_second": 9.0},
            },
            NEVER,
            id="its status says that it falls behind",
        ),
        pytest.param(
            {
                **{"status": "LOSING_DATA", "lag": 9},
                **{"growth_per_second": 0.1, "arrival_per_second": 9.0},
            },
            NEVER,
            id="it is drained by deletion alone",
        ),
        pytest.param(
            {"status": "LOSING_DATA", "lag": 9, "drain_seconds": 4.0},
            None,
            id="what is deleted counts as consumed",
        ),
        pytest.param({"status": "LOSING_DATA", "lag": 0}, NONE, id="it lost all that waited"),
        pytest.param({"lag": 0}, NONE, id="nothing waits"),
        pytest.param({}, None, id="nobody knows"),
    ],
)
def test_time_to_drain(numbers: dict[str, Any], expected: float | None) -> None:
    found = statuses({"group": "g", **numbers}).select(group_list.drain_seconds())
    assert found.item() == expected


def test_the_sentence_of_groups_never_hides_what_is_unknown() -> None:
    late = {"group": "a", "status": "STOPPED", "lag": 5, "time_lag_seconds": 120.0}
    unsure = {"group": "b", "status": "UNKNOWN", "unknown_partitions": 2}
    title, detail = group_list.sentence(statuses(late, unsure))
    assert title == "Of 2 groups: 1 stopped, 1 unknown"
    assert "without 1 group that cannot be read in full;" in detail
    _, detail = group_list.sentence(statuses(late, {**unsure, "known_lag": 700}))
    assert "without 1 group that cannot be read in full, it had 700 when last read;" in detail
    two = [{**unsure, "known_lag": 700}, {**unsure, "group": "c"}]
    assert ", 1 of them had 700 when last read" in group_list.sentence(statuses(late, *two))[1]
    assert "furthest behind is a by 2 min" in detail
    _, detail = group_list.sentence(statuses({**late, "group": "z"}, late, {**late, "group": "k"}))
    assert "furthest behind is a by" in detail, "of those that are alike the first by name"
    title, _ = group_list.sentence(statuses(unsure))
    assert title == "Of 1 group: 1 unknown"


def test_the_headline_counts_what_the_badges_say() -> None:
    given = ["OK", "CATCHING_UP", "FALLING_BEHIND", "LOSING_DATA", "FALLING_BEHIND"]
    found = statuses(
        *({"group": str(number), "status": status} for number, status in enumerate(given))
    )
    title, _ = group_list.sentence(found)
    assert title == "Of 5 groups: 1 losing data, 2 falling behind, 1 catching up"
    assert group_list.sentence(found.head(1))[0] == "The group keeps up"
    assert group_list.sentence(pl.concat([found.head(1)] * 2))[0] == "All 2 groups keep up"
    late = found.head(1).with_columns(
        reason=pl.lit("Later than its objective of 1 min, but keeps up: 3 messages wait.")
    )
    both = pl.concat([found.head(1), late])
    assert group_list.sentence(both)[0] == "2 groups keep up, 1 of them later than its objective"
    assert group_list.sentence(late)[0] == "The group keeps up, later than its objective"


def test_one_message_waits_for_one_consumer() -> None:
    one = statuses({"group": "a", "lag": 1})
    assert group_list.sentence(one)[1] == "1 message waits."
    assert group_list.totals(one) == "1 message waits; 1 consumer"


def test_filters_and_quiet_groups() -> None:
    found = group_list.rows(
        statuses({"group": "Orders", "lag": 1}, {"group": "old", "members": 0, "lag": 0})
    )
    named = group_list.filtered(found, search="ord", statuses=[], kinds=[])
    assert named["group"].to_list() == ["Orders"]
    assert found.filter(group_list.is_quiet())["group"].to_list() == ["old"]
    assert group_list.filtered(found, search="", statuses=[Status.STOPPED], kinds=[]).is_empty()


def test_rates_of_which_a_part_is_unknown_are_labelled() -> None:
    rates = {"arrival_per_second": 5.0, "consumption_per_second": 4.0}
    groups = statuses(
        {"group": "part", "status": "STALLED"},
        {"group": "whole", "status": "STALLED", **rates},
        {"group": "nothing", "status": "UNKNOWN"},
        {"group": "fine"},
    )
    read = {"is_subscribed": True, "decides": True, "status": "STALLED"}
    partitions = partition_statuses(
        {"group": "part", "partition": 0, **read, **rates},
        {"group": "part", "partition": 1, **read, **rates},
        {"group": "part", "partition": 2, **read},
        {"group": "part", "partition": 3, **read, **rates, "is_subscribed": False},
        {"group": "part", "partition": 4, **read, "decides": False},
        {"group": "whole", "partition": 0, **read, **rates},
        {"group": "nothing", "partition": 0, **read},
    )
    found = group_list.with_known_rates(groups, partitions)
    assert found.select("group", *rates, "rates_of").rows() == [
        ("part", 10.0, 8.0, "2 of 3 partitions"),
        ("whole", 5.0, 4.0, None),
        ("nothing", None, None, None),
        ("fine", None, None, None),
    ]
    assert found.columns == [*groups.columns, "rates_of"]


def test_what_lag_and_rates_are_the_sum_of_is_said_where_it_is_not_all() -> None:
    groups = statuses(
        {"group": "lag", "partitions": 6, "unknown_partitions": 2},
        {"group": "rates", "partitions": 3},
        {"group": "whole", "partitions": 3},
    ).with_columns(rates_of=pl.Series([None, "2 of 3 partitions", None]))
    assert group_list.with_known_part(groups)["known_of"].to_list() == ["4 of 6", "2 of 3", None]


def test_courses_of_lag_keep_the_order_of_the_groups() -> None:
    shown = group_list.rows(statuses({"group": "b", "lag": 1}, {"group": "a", "lag": 1}))
    past = pl.DataFrame({"time": [at(0), at(60)], "group": ["b", "b"], "lag": [1, 4]})
    found = group_list.with_trends(shown, past)
    assert found["group"].to_list() == ["a", "b"]
    assert found["trend"].to_list() == [None, [1.0, 4.0]]
    assert group_list.with_trends(shown, None)["trend"].to_list() == [None, None]


def test_the_objective_that_all_groups_have() -> None:
    def objectives(*seconds: float) -> pl.DataFrame:
        return pl.DataFrame({"objective_seconds": pl.Series(seconds, dtype=pl.Float64)})

    assert group_list.common_objective(objectives(300, 300), objectives(300)) == 300
    assert group_list.common_objective(objectives(300, 300), objectives(60)) is None
    assert group_list.common_objective(objectives(), objectives()) is None


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        pytest.param(
            "At least 9 messages lost on o-1 (1 of 4), in the last 10 min.",
            "At least 1 372 lost since 23:37.",
            id="one partition",
        ),
        pytest.param(
            "At least 1,436 messages lost evenly on all 3 partitions, in the last "
            "10 min or since the last commit.",
            "At least 1 372 lost since 23:37.",
            id="all",
        ),
        pytest.param(
            "329 messages lost in the last 10 min, at 5 times.",
            "At least 1 372 lost since 23:37.",
            id="its only partition",
        ),
        pytest.param("Not read for 5 min.", "Not read for 5 min.", id="other words"),
    ],
)
def test_how_much_a_group_lost_is_the_total_of_all_pages(reason: str, said: str) -> None:
    lost = {"g": "At least 1 372 lost since 23:37"}
    both = [{"group": name, "status": "LOSING_DATA", "reason": reason} for name in ("g", "h")]
    rows = statuses(*both)
    found = with_brief_reasons(group_list.with_total_losses(rows, lost))
    assert found["reason"][0] == said
    assert group_list.with_total_losses(rows, lost)["reason"][1] == reason


def test_reasons_leave_out_what_the_columns_beside_them_say() -> None:
    given = {
        "Stopped: nobody consumes, 9 messages wait.": (
            "STOPPED",
            "Nobody consumes, 9 messages wait.",
        ),
        "No commit on 1 of 12 partitions (o-7) while 1 message waits there.": (
            *("STALLED", "No commit on o-7 (1 of 12)."),
        ),
        "No commit on 3 of 12 partitions (o-7) while 4,123 messages wait there.": (
            *("STALLED", "No commit on 3 of 12 partitions (o-7)."),
        ),
        "At least 1,436 messages lost on o-1 (1 of 3), in the last 10 min "
        "or since the last commit.": (
            "LOSING_DATA",
            "At least 1,436 lost in 10 min or since the last commit, on o-1 (1 of 3).",
        ),
        "At least 663 messages lost evenly on all 3 partitions, in the last 10 min.": (
            *("LOSING_DATA", "At least 663 lost in 10 min, on all 3 partitions."),
        ),
        "At least 9 messages lost on o-1 (1 of 3), since the last commit.": (
            *("LOSING_DATA", "At least 9 lost since the last commit, on o-1 (1 of 3)."),
        ),
        "1,204 messages lost in the last 10 min.": (
            *("LOSING_DATA", "1,204 lost in the last 10 min."),
        ),
        "42 min 41 s behind with 1,420 messages, on 4 of 4 partitions, most on "
        "o-1: 40/s arrive, 30/s consumed.": (
            *("FALLING_BEHIND", "Most on o-1: 40/s arrive, 30/s consumed."),
        ),
        "1 min behind with 20 messages, on o-1 (1 of 4): 4/s arrive, 3/s consumed.": (
            "FALLING_BEHIND",
            "On o-1 (1 of 4): 4/s arrive, 3/s consumed.",
        ),
        "9 min behind with 20 messages, catching up, drained in 3 min; behind on 4 of 4 "
        "partitions, most on o-1: 1/s arrive, 2/s consumed.": (
            "CATCHING_UP",
            "Drained in 3 min; most on o-1: 1/s arrive, 2/s consumed.",
        ),
        "3 min behind with 9 messages, catching up; behind evenly on 5 of 6 partitions.": (
            *("CATCHING_UP", "Behind evenly on 5 of 6 partitions."),
        ),
        "1 h 12 min behind with 1 message: nobody consumes 2 of 3 partitions, 15/s more arrive.": (
            *("STOPPED", "Nobody consumes 2 of 3 partitions, 15/s more arrive."),
        ),
        "2 min behind with 9 messages: nobody consumes, 15/s more arrive.": (
            *("STOPPED", "Nobody consumes, 15/s more arrive."),
        ),
        "Unknown: the newest sample is 5 min old; on 2 of 3 partitions, such as o-1.": (
            *("UNKNOWN", "The newest sample is 5 min old; on 2 of 3 partitions, such as o-1."),
        ),
        "Keeps up: 3 messages wait.": ("OK", "Keeps up."),
        "Later than its objective of 1 min, but keeps up: 9/s arrive, 9/s consumed; 2 min behind "
        "with 900 messages.": ("OK", "Later than its objective of 1 min, but keeps up."),
        "Not late, but its lag grows: 26/min arrive, 19/min consumed; 15 s behind with 27 "
        "messages.": ("OK", "Not late, but its lag grows."),
    }
    groups = pl.DataFrame(
        {"status": [status for status, _ in given.values()], "reason": list(given)}
    )
    brief = with_brief_reasons(groups)
    assert brief["reason"].to_list() == [said for _, said in given.values()]


@pytest.mark.parametrize(
    ("status", "reason", "said"),
    [
        pytest.param(
            "STALLED",
            "No commit on 1 of 4 partitions (a.b-2) while 8,579 messages wait there.",
            "No commit on partition 2.",
            id="a partition stands still",
        ),
        pytest.param(
            "FALLING_BEHIND",
            "6 min behind with 20 messages, on a.b-0 (1 of 6): 100/s arrive, 66/s consumed.",
            "Partition 0: 100/s arrive, 66/s consumed.",
            id="a partition falls behind",
        ),
        pytest.param(
            "FALLING_BEHIND",
            "6 min behind with 20 messages, on 2 of 6 partitions, most on a.b-0: "
            "100/s arrive, 66/s consumed.",
            "On 2 of 6 partitions, most on partition 0: 100/s arrive, 66/s consumed.",
            id="most on one",
        ),
        pytest.param(
            "FALLING_BEHIND",
            "1 min behind with 20 messages, on all 6 partitions: 180/s arrive, 145/s consumed.",
            "On all 6 partitions.",
            id="all, whose rates stand beside it",
        ),
    ],
)
def test_the_only_topic_of_a_group_needs_no_name(status: str, reason: str, said: str) -> None:
    one = pl.DataFrame({"status": [status], "reason": [reason], "topics": [["a.b"]]})
    assert with_brief_reasons(one)["reason"].to_list() == [said]
    two = one.with_columns(topics=pl.lit(["a.b", "c"]))
    assert ("a.b-" in with_brief_reasons(two)["reason"][0]) is ("a.b-" in reason)
