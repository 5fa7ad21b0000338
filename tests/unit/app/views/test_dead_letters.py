"""Dead letters, shaped from rows made by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from app.data.context import View
from app.data.time_range import RANGES, TimeRange, between
from app.style.columns import DASH, Column
from app.ui.dead_letter_sources import Source
from app.ui.tables import csv
from app.views.dead_letters import headline, view_model
from lake.schemas.current import READERS
from lake.schemas.tables import DEAD_LETTERS, PARTITIONS
from tests.unit.app.views.made_rows import START, at, rows

DAY = 86400.0


def letters(**given: Any) -> pl.DataFrame:
    usual = {
        "cluster": "c",
        "observed_at": START,
        "source": "kafka",
        "name": "d",
        "redrive_group": "r",
        "unprocessed": 5,
        "retained": 9,
        "log_end": 100,
        "arrival_per_second": 0.0,
        "retention_seconds": DAY,
    }
    of_topics = {
        **{"arrival_per_second": pl.Float64(), "retention_seconds": pl.Float64()},
        **{"top_reason": pl.String(), "top_share": pl.Float64()},
    }
    return pl.DataFrame([{**usual, **given}], schema={**DEAD_LETTERS.polars_schema, **of_topics})


@pytest.mark.parametrize(
    ("given", "title", "detail"),
    [
        pytest.param({}, "Nothing fails now", "5 wait to be redriven", id="quiet"),
        pytest.param({"arrival_per_second": 2.0}, "120/min fail", "5 wait", id="growing"),
        pytest.param(
            {"arrival_per_second": None},
            "Arrivals of 1 of 1",
            "5 wait to be redriven; what arrives in 1 topic is known after the next poll.",
            id="one poll alone",
        ),
        pytest.param(
            {"arrival_per_second": None, "log_end": None},
            "Arrivals of 1 of 1",
            "5 wait to be redriven.",
            id="arrivals unknown",
        ),
        pytest.param(
            {"unprocessed": 0}, "Nothing fails now", "Nothing waits to be redriven.", id="none wait"
        ),
        pytest.param(
            {"redrive_group": None, "unprocessed": None},
            "Nothing fails now",
            "without a redrive group: nobody looks",
            id="nobody looks",
        ),
        pytest.param(
            {"unprocessed": None}, "Nothing fails now", "unknown depth", id="depth unknown"
        ),
    ],
)
def test_the_sentence_of_dead_letters(given: dict[str, Any], title: str, detail: str) -> None:
    found = headline.sentence(letters(**given))
    assert title in found[0]
    assert detail in found[1]


def test_the_sentence_names_topics_whose_source_is_stopped() -> None:
    _, detail = headline.sentence(letters(), {"d": Source(said="", is_stopped=True)})
    assert detail == "5 wait to be redriven; nothing can fail into d: what would is stopped."


def test_the_sentence_names_topics_whose_source_catches_up() -> None:
    late = Source(said="", catches_up=True)
    _, detail = headline.sentence(letters(), {"d": late})
    assert detail.endswith(
        "; more than usual may fail into d: a group that reads its origin catches up."
    )
    _, detail = headline.sentence(letters(), {"d": late, "e": late})
    assert "into d and e: groups that read their origins catch up" in detail


@pytest.mark.parametrize(
    ("retained", "said"),
    [
        pytest.param([434, 288], "722 lie in 2 topics without a redrive group: nobody looks."),
        pytest.param([1], "1 lies in 1 topic without a redrive group: nobody looks."),
        pytest.param([0], "Nothing lies in 1 topic without a redrive group."),
        pytest.param(
            [434, None],
            "434 lie in 2 topics without a redrive group (1 with an unknown depth): nobody looks.",
        ),
        pytest.param([None], "How much lies in 1 topic without a redrive group is unknown."),
    ],
)
def test_the_sentence_says_how_much_lies_where_nobody_looks(
    retained: list[int | None], said: str
) -> None:
    alone = {"redrive_group": None, "unprocessed": None}
    rows = pl.concat([letters(**alone, retained=number) for number in retained])
    assert headline.sentence(rows)[1] == said


def readers(*given: dict[str, Any]) -> pl.DataFrame:
    """Return what redrive groups read."""
    reads = {"cluster": "c", "topic": "d", "group": "r"}
    return pl.DataFrame([{**reads, **one} for one in given], schema=READERS.polars_schema)


def of_table(
    letter: dict[str, Any],
    *reads: dict[str, Any],
    now: float = 3600.0,
) -> dict[str, Any]:
    """Return the row of the table of a letterbox whose oldest is an hour old."""
    oldest = "oldest_unprocessed_at" if letter.get("redrive_group", "r") else "oldest_retained_at"
    (found,) = view_model.table_rows(
        letters(**{oldest: START, **letter}),
        pl.DataFrame(schema={"topic": pl.String, "arrival_per_second": pl.Float64}),
        readers(*reads),
        at(now),
    ).to_dicts()
    return found


@pytest.mark.parametrize(
    ("read", "said"),
    [
        pytest.param({"loss": "none"}, (DASH, "redriven in time", False), id="in time"),
        pytest.param(
            {"loss": "coming", "data_loss_at": at(7200)},
            ("1 h", "by retention", True),
            id="as the group's page says",
        ),
        pytest.param(
            {"loss": "coming", "data_loss_at": at(3600 + 8 * DAY)},
            (DASH, "redriven in time", False),
            id="so late that no page tells it",
        ),
        pytest.param({"loss": "lost"}, ("now", "by retention", True), id="now"),
        pytest.param({"loss": "unknown"}, ("unknown", "by retention", False), id="unknown"),
        pytest.param(
            {"loss": "none", "group": "another"},
            ("23 h", "by retention", False),
            id="it never read",
        ),
    ],
)
def test_dead_letters_are_deleted_when_who_redrives_them_is_too_late(
    read: dict[str, Any], said: tuple[str, str, bool]
) -> None:
    assert view_model.deleted_in(of_table({}, read)) == said


def test_dead_letters_that_nobody_redrives_are_deleted_when_they_are_old() -> None:
    nobody = {"redrive_group": None, "unprocessed": None}
    assert view_model.deleted_in(of_table(nobody)) == ("23 h", "by retention", False)
    past = of_table(nobody, now=2 * DAY)
    assert view_model.deleted_in(past) == ("now", "by retention", True)
    unlimited = of_table({**nobody, "retention_seconds": None})
    assert view_model.deleted_in(unlimited) == ("unknown", "by retention", False)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"unprocessed": 0, "oldest_unprocessed_at": None}, id="all redriven"),
        pytest.param(
            {"redrive_group": None, "unprocessed": None, "retained": 0, "oldest_retained_at": None},
            id="empty, and nobody redrives",
        ),
    ],
)
def test_where_no_dead_letter_waits_none_is_old_or_will_be_deleted(given: dict[str, Any]) -> None:
    row = of_table(given)
    assert view_model.age_of_oldest(row["oldest_seconds"]) == "nothing waits"
    assert view_model.deleted_in(row) == ("nothing waits", "", False)
    column = {"oldest_seconds": Column("oldest", "duration")}
    frame = pl.DataFrame({"oldest_seconds": [row["oldest_seconds"]]})
    assert csv(frame, column).splitlines() == ["oldest (seconds)", ""], "no number"


def test_the_oldest_that_waits_has_its_age_or_is_unknown() -> None:
    assert view_model.age_of_oldest(of_table({})["oldest_seconds"]) == "1 h"
    unread = of_table({"oldest_unprocessed_at": None, "unprocessed": None})
    assert view_model.age_of_oldest(unread["oldest_seconds"]) == "unknown"


def test_the_share_of_an_origin_is_of_the_minutes_in_which_dead_letters_were_counted() -> None:
    """Given an origin that was ten times as busy before these five minutes."""

    def partition(number: int, second: float, log_end: int | None) -> dict[str, Any]:
        return {
            "topic": "orders",
            "partition": number,
            "observed_at": at(second),
            "log_end": log_end,
        }

    samples = [
        partition(number, second, end)
        for number in (0, 1)
        for second, end in ((-600, 0), (-300, 300_000), (0, 330_000), (15, 900_000))
    ]
    found = view_model.origin_rates(rows(PARTITIONS, *samples), letters())
    assert found.rows() == [("orders", 200.0)]
    samples.append(partition(2, 0, None))
    found = view_model.origin_rates(rows(PARTITIONS, *samples), letters())
    assert found.rows() == [("orders", None)], "one partition is not known"
    origin = pl.DataFrame({"topic": ["orders"], "arrival_per_second": [200.0]})
    (row,) = view_model.table_rows(
        letters(origin="orders", arrival_per_second=2.0),
        origin,
        readers(),
        START,
    ).to_dicts()
    assert row["origin_ratio"] == 0.01


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param({}, "known after the next poll", id="one poll alone"),
        pytest.param({"log_end": None}, "the log end is unknown", id="a partition is offline"),
        pytest.param(
            {"log_end": None, "source": "rabbitmq"}, "RabbitMQ does not tell", id="a queue"
        ),
    ],
)
def test_a_rate_that_is_not_known_says_why(given: dict[str, Any], said: str) -> None:
    assert view_model.why_no_rate(letters(**given).row(0, named=True)) == said


def test_arrivals_are_shared_out_by_the_exceptions_of_each_poll() -> None:
    samples = pl.DataFrame(
        [
            {"observed_at": at(0), "log_end": 100, "reasons": [{"key": "a.Old", "value": 9}]},
            {
                "observed_at": at(30),
                "log_end": 140,
                "reasons": [{"key": "a.b.Rare", "value": 1}, {"key": "a.b.Common", "value": 3}],
            },
            {"observed_at": at(60), "log_end": 140, "reasons": [{"key": "a.b.Rare", "value": 4}]},
            {"observed_at": at(90), "log_end": None, "reasons": None},
            {"observed_at": at(120), "log_end": 200, "reasons": [{"key": "a.b.Rare", "value": 2}]},
        ]
    )
    samples = samples.with_columns(source=pl.lit("kafka"), name=pl.lit("orders.dlq"))
    found = view_model.by_exception(samples, 60.0)
    first = found.filter(pl.col("time") == at(0))
    assert dict(first.select("reason", "arrived").iter_rows()) == {"Common": 30.0, "Rare": 10.0}
    later = found.filter(pl.col("time") == at(120))
    assert later.select("reason", "arrived", "arrival_per_second").rows() == [("Rare", 60.0, 1.0)]
    counted = view_model.reason_rows(found, None)
    assert counted.select("reason", "messages").rows() == [("Rare", 70.0), ("Common", 30.0)]
    assert counted["share"].to_list() == pytest.approx([0.7, 0.3])


def test_an_exception_of_which_none_came_is_nothing_and_what_is_not_known_is_a_gap() -> None:
    both, rare = {"a.Common": 1, "a.Rare": 1}, {"a.Rare": 1}
    polls = [(0, 0, both), (60, 2, both), (120, 4, rare), (180, 4, {}), (240, 6, {})]
    samples = pl.concat(
        letters(
            observed_at=at(seconds),
            log_end=end,
            reasons=[{"key": key, "value": value} for key, value in reasons.items()],
        )
        for seconds, end, reasons in polls
    )
    found = view_model.by_exception(samples, 60.0)
    drawn = view_model.with_nothing(found, samples, 60.0)
    common = drawn.filter(pl.col("reason") == "Common").select("time", "arrived").rows()
    assert common == [(at(60), 1.0), (at(120), 0.0), (at(180), 0.0)], "what came last is unnamed"


def test_a_step_that_runs_is_not_drawn() -> None:
    arrived = pl.DataFrame({"time": [at(0), at(60), at(120)], "arrived": [60.0, 60.0, 3.0]})

    def whole(newest: float) -> int:
        samples = pl.DataFrame({"observed_at": [at(0), at(newest)]})
        return view_model.whole_steps(arrived, samples, 60.0).height

    assert (whole(125), whole(179), whole(180), whole(30)) == (2, 2, 3, 0)


def test_where_nothing_arrived_the_sampled_records_are_counted() -> None:
    nothing = view_model.by_exception(pl.DataFrame(schema=DEAD_LETTERS.polars_schema), 60.0)
    assert nothing.is_empty()
    found = view_model.reason_rows(
        nothing, [{"key": "a.b.Rare", "value": 1}, {"key": "a.b.Common", "value": 3}]
    )
    assert found["reason"].to_list() == ["Common", "Rare"]
    assert found["share"].to_list() == [0.75, 0.25]
    assert view_model.reason_rows(nothing, None).is_empty()


@pytest.mark.parametrize(
    ("samples", "sampled", "said"),
    [
        pytest.param(
            [{"a.Old": 9}, {"a.Common": 3, "a.Rare": 1}], 4, "Common, 75\u202f%", id="two"
        ),
        pytest.param([{"a.Old": 9}], 9, "Old", id="one"),
        pytest.param([{"a.Old": 9}, {}], 4, "Old", id="the newest names none"),
        pytest.param([{}], 4, "none named", id="none in the last minutes"),
        pytest.param([{}], None, None, id="nothing could be sampled"),
    ],
)
def test_why_most_fail_is_said_with_its_share(
    samples: list[dict[str, int]], sampled: int | None, said: str | None
) -> None:
    recent = pl.concat(
        letters(
            observed_at=at(60 * number),
            reasons=[{"key": key, "value": value} for key, value in reasons.items()],
        )
        for number, reasons in enumerate(samples)
    )
    found = view_model.with_reasons(letters(sampled_records=sampled), recent)
    assert found["mostly"].to_list() == [said]


def test_what_mostly_fails_is_what_alerts_say() -> None:
    recent = letters(reasons=[{"key": "a.Newest", "value": 9}])
    told = letters(sampled_records=9, top_reason="Often", top_share=0.7)
    assert view_model.with_reasons(told, recent)["mostly"].to_list() == ["Often, 70\u202f%"]


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        pytest.param(RANGES["1h"], "in the last hour", id="an hour"),
        pytest.param(RANGES["7d"], "in the last 24 hours", id="a day at most"),
        pytest.param(
            between(at(-2 * 86400), at(0), at(0), None),
            f"from {at(-86400).day} {at(-86400):%b %H:%M} to {at(0):%H:%M}",
            id="the last day of a fixed range",
        ),
    ],
)
def test_reasons_say_in_what_they_are_counted(view: View, chosen: TimeRange, said: str) -> None:
    view = replace(view, range=chosen, now=at(0))
    arrived = view_model.by_exception(DEAD_LETTERS.empty, 60.0)
    assert view_model.counted_in(view, arrived) == "in the newest sample"
    one = pl.DataFrame({"arrived": [1.0]})
    assert view_model.counted_in(view, one) == said


def test_a_topic_that_has_stopped_receiving_is_told_apart_from_its_mean() -> None:
    rows = pl.concat(
        [letters(name=name, arrival_per_second=0.5) for name in ("gone", "goes", "seen once")]
    )
    polls = [
        {
            "source": "kafka",
            "name": name,
            "observed_at": START - timedelta(seconds=seconds),
            "log_end": log_end - (seconds if name == "goes" else 0),
        }
        for name, log_end, last in (("gone", 40, 0), ("goes", 999, 0), ("seen once", 7, 60))
        for seconds in (0, 30, 60)
        if seconds >= last
    ]
    recent = pl.DataFrame(polls, schema_overrides={"observed_at": pl.Datetime("us", "UTC")})
    recent = recent.filter((pl.col("name") != "seen once") | (pl.col("observed_at") < START))
    stopped = headline.stopped_receiving(rows, recent)
    assert stopped == ["gone"], "one poll does not tell"
    title, _ = headline.sentence(rows, {}, stopped)
    assert title.endswith("fail, in 2 of 3 topics; none for 1 min in gone")
    title, _ = headline.sentence(rows.filter(pl.col("name") == "gone"), {}, stopped)
    assert title == "Nothing fails now: none for 1 min in gone"
