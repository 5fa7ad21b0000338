"""What a table writes where there is no value."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal, cast

import polars as pl
import pytest

from app.data.context import View
from app.data.time_range import RANGES
from app.style.columns import DASH, NEVER, NONE, Column
from app.style.theme import OK, URGENT
from app.ui import tables
from app.ui.advice.advice_history import change
from app.ui.file_names import file_name
from app.ui.tables import cards, csv, styled, texts
from app.ui.topic_list import hot_partitions, totals

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


class Frame:
    """What of a page's frame a table asks for."""

    now = NOON
    zone = UTC


def written(values: list[Any], dtype: Any, column: Column) -> list[str]:
    frame = pl.DataFrame({"it": pl.Series(values, dtype=dtype)})
    shown = styled(frame, {"it": column}, cast(View, Frame()))
    return re.findall("<td[^>]*>(.*?)</td>", shown.to_html())


def test_sentences_have_the_thousands_of_the_page_and_names_stay_as_they_are() -> None:
    shown = written(["3,315 messages wait", "eu,300-orders", None], pl.String, Column("why"))
    assert shown == ["3\u202f315 messages wait", "eu,300-orders", "unknown"]


def test_a_time_that_there_is_not_is_written_with_its_own_word() -> None:
    column = Column("resolved", "time", unknown="fires")
    frame = pl.DataFrame({"it": pl.Series([NOON, None], dtype=pl.Datetime("us", "UTC"))})

    shown = styled(frame, {"it": column}, cast(View, Frame()))

    # The browser writes "unknown" wherever a value is null, whatever the cell is to say.
    assert not shown.data["it"].isna().any()
    assert written([NOON, None], pl.Datetime("us", "UTC"), column) == ["12:00", "fires"]


def test_a_time_that_is_then_or_before_is_sorted_as_a_time_and_written_so() -> None:
    columns = {"it": Column("since", "time", at_least="at_least")}
    frame = pl.DataFrame(
        {"it": [NOON, NOON, None], "at_least": [True, False, True]},
        schema_overrides={"it": pl.Datetime("us", "UTC")},
    )
    view = cast(View, Frame())

    shown = styled(frame, columns, view)

    assert [one.to_pydatetime() for one in shown.data["it"].dropna()] == [NOON, NOON]
    cells = re.findall("<td[^>]*>(.*?)</td>", shown.to_html())
    assert cells == ["≤ 12:00", "12:00", "unknown"]
    assert [row[0] for row in texts(frame, columns, view)] == cells
    assert csv(frame, columns).splitlines()[:2] == [
        "since (UTC),since then or before",
        "2026-11-20T12:00:00Z,true",
    ]


def test_a_time_that_is_not_known_stays_null() -> None:
    column = Column("last poll", "time")

    assert written([NOON, None], pl.Datetime("us", "UTC"), column) == ["12:00", "unknown"]


@pytest.mark.parametrize(
    ("hot", "expected"),
    [
        pytest.param([0], "partition 0", id="the first one"),
        pytest.param([0, 3], "partition 0, 3", id="two"),
        pytest.param([], DASH, id="none"),
        pytest.param(None, None, id="a rate is unknown"),
    ],
)
def test_hot_partitions_are_named_and_never_look_like_a_count(
    hot: list[int] | None, expected: str | None
) -> None:
    frame = pl.DataFrame({"hot_partitions": [hot]}, schema={"hot_partitions": pl.List(pl.Int32)})
    assert frame.select(hot_partitions()).item() == expected


@pytest.mark.parametrize(
    ("current", "proposed", "text"),
    [
        pytest.param(5, 3, "5 → 3 consumers", id="a number"),
        pytest.param(None, 3, "unknown → 3 consumers", id="from an unknown one"),
        pytest.param(2, None, "2 consumers now, no number advised", id="to an unknown one"),
        pytest.param(1, None, "1 consumer now, no number advised", id="from one"),
        pytest.param(None, None, "–", id="none"),  # noqa: RUF001 (a dash, read by people)
    ],
)
def test_a_change_that_names_no_number_shows_none(
    current: int | None, proposed: int | None, text: str
) -> None:
    assert change({"current": current, "proposed": proposed, "quantity": "consumers"}) == text


def test_a_file_has_the_names_of_the_page_and_no_sentinel() -> None:
    frame = pl.DataFrame(
        {
            "group": ["billing", "=cmd()", "stock"],
            "label": [["✓ OK"], ["■ stopped"], ["? unknown"]],
            "behind_seconds": [0.5, None, 4236.25],
            "drain_seconds": [NONE, NEVER, 12.0],
            "at": pl.Series([NOON, None, NOON], dtype=pl.Datetime("us", "UTC")),
            "trend": [[1.0], [2.0], [3.0]],
            "hidden": [1, 2, 3],
        }
    )
    columns = {
        "group": Column("group", opens=("group", "group")),
        "label": Column("status", "status"),
        "behind_seconds": Column("time lag", "duration"),
        "drain_seconds": Column("drained in", "duration", never="grows"),
        "at": Column("began", "time"),
        "trend": Column("trend", "trend"),
    }
    assert csv(frame, columns).splitlines() == [
        "group,status,time lag (seconds),drained in (seconds),began (UTC)",
        "billing,OK,0.5,,2026-11-20T12:00:00Z",
        "'=cmd(),stopped,,grows,",
        "stock,unknown,4236.25,12.0,2026-11-20T12:00:00Z",
    ]


def test_a_file_has_no_digits_that_mean_nothing_and_the_thousands_of_the_page() -> None:
    frame = pl.DataFrame(
        {
            "lag": [49.95421004295349, 0.0004, 86400.0, None],
            "rate": [3.3333333333333335, 0.00123456, 31618.7, 0.0],
            "ratio": [0.083333333, 1.0, 0.5, None],
            "why": ["31,618 messages wait", "eu,300-orders", "keeps up", None],
        }
    )
    columns = {
        "lag": Column("time lag", "duration"),
        "rate": Column("arrival", "rate"),
        "ratio": Column("share", "share"),
        "why": Column("why"),
    }
    assert csv(frame, columns).splitlines()[1:] == [
        "49.954,3.333,0.08333,31\u202f618 messages wait",
        '0.0,0.001235,1.0,"eu,300-orders"',
        "86400.0,31619.0,0.5,keeps up",
        ",0.0,,",
    ]


def test_a_change_by_minus_one_is_a_number() -> None:
    column = Column("change", "change")
    assert written([-1.0, 2.0], pl.Float64, column) == ["-1/s", "+2/s"]
    frame = pl.DataFrame({"it": [-1.0]})
    assert csv(frame, {"it": column}).splitlines()[1] == "-1.0"


def test_zero_is_a_word_where_it_is_no_number() -> None:
    column = Column("growth", "change", never="–", zero="steady")  # noqa: RUF001
    assert written([0.0, -0.5, None], pl.Float64, column) == ["steady", "-30/min", "unknown"]
    frame = pl.DataFrame({"it": [0.0, 10.0, NEVER, None]})
    assert csv(frame, {"it": column}).splitlines()[1:] == ["steady", "10.0", "–", ""]  # noqa: RUF001


@pytest.mark.parametrize(
    ("is_of_range", "name"),
    [
        pytest.param(True, "groups-eu_prod-6h-2026-11-20T1200.csv", id="of the chosen range"),
        pytest.param(False, "groups-eu_prod-2026-11-20T1200.csv", id="of a time of its own"),
    ],
)
def test_a_file_is_named_by_what_it_lists_of_which_cluster_and_when(
    is_of_range: bool, name: str
) -> None:
    class Chosen(Frame):
        cluster = "eu/prod"
        range = RANGES["6h"]
        has_range = is_of_range

    assert file_name("groups-table", cast(View, Chosen())) == name


def test_two_columns_of_one_label_stay_two() -> None:
    frame = pl.DataFrame({"a": [1], "b": [2]})
    columns = {"a": Column("lag", "count"), "b": Column("lag", "count")}
    assert csv(frame, columns).splitlines() == ["lag [a],lag [b]", "1,2"]


def test_a_card_has_every_column_of_its_row_but_what_does_not_apply() -> None:
    why = "Stopped: nobody consumes, and 43,200 messages wait."
    frame = pl.DataFrame(
        {
            "group": ["archive", "billing"],
            "label": [[URGENT.label], [OK.label]],
            "why": [why, "keeps up"],
            "lag": [43_200, None],
            "drain_seconds": [NEVER, NONE],
            "trend": [[1.0], [2.0]],
            "replicas": [[1, 2], [3]],
        }
    )
    columns = {
        "group": Column("group", opens=("group", "group")),
        "label": Column("status", "status", badge_styles=[URGENT, OK]),
        "why": Column("why"),
        "lag": Column("lag", "count"),
        "drain_seconds": Column("drained in", "duration", never="grows"),
        "trend": Column("trend", "trend"),
        "replicas": Column("replicas"),
    }

    stopped, billing = cards(frame, columns, cast(View, Frame()))

    thin = why.replace(",200", "\u202f200")
    assert (stopped.what, stopped.badge, stopped.why) == ("archive", URGENT, thin)
    assert stopped.link is not None and stopped.link.parameters == {"group": "archive"}
    assert stopped.step == "lag 43\u202f200 · drained in grows · replicas 1, 2"
    assert billing.step == "why keeps up · lag unknown · replicas 3"


def test_a_sentence_of_a_card_is_told_apart_from_the_one_before() -> None:
    advice = "a hot partition: web.page_views-0; look at the keys of it"
    frame = pl.DataFrame(
        {"group": ["a", "b"], "why": ["Falls behind.", ""], "advice": [advice] * 2}
    )
    columns = {name: Column(name) for name in frame.columns}
    both, alone = cards(frame, columns, cast(View, Frame()))
    assert (both.why, both.step) == (f"Falls behind. Advice: {advice}", "")
    assert alone.why == advice


@pytest.mark.parametrize(
    ("width", "is_sentence"),
    [("large", True), (500, True), (399, False), ("medium", False), (None, False)],
)
def test_a_card_leaves_out_the_label_of_a_wide_column(
    width: int | Literal["medium", "large"] | None, is_sentence: bool
) -> None:
    columns = {"name": Column("name"), "why": Column("why", width=width)}
    (card,) = cards(pl.DataFrame({"name": ["a"], "why": ["b"]}), columns, cast(View, Frame()))
    assert (card.why, card.step) == (("b", "") if is_sentence else ("", "why b"))


def test_a_card_has_a_name_for_its_title_and_never_its_status() -> None:
    frame = pl.DataFrame(
        {
            "label": [[URGENT.label]],
            "at": pl.Series([NOON], dtype=pl.Datetime("us", "UTC")),
            "kind": ["change"],
            "what": ["topic orders appeared"],
            "detail": ["3 partitions"],
        }
    )
    columns = {
        "label": Column("severity", "status", badge_styles=[URGENT]),
        "at": Column("time", "time"),
        "kind": Column("kind"),
        "what": Column("what", names=True),
        "detail": Column("detail", width="large"),
    }
    (card,) = cards(frame, columns, cast(View, Frame()))
    assert (card.what, card.badge) == ("topic orders appeared", URGENT)
    assert (card.when, card.why, card.step) == ("12:00 · change", "3 partitions", "")

    del columns["at"], columns["kind"], columns["what"]
    (card,) = cards(frame, columns, cast(View, Frame()))
    assert (card.what, card.badge) == ("3 partitions", URGENT)


def test_a_card_shows_the_first_columns_and_folds_the_others() -> None:
    names = ["name", "a", "b", "c", "d", "e", "f"]
    frame = pl.DataFrame({name: [name.upper()] for name in names})
    (card,) = cards(frame, {name: Column(name) for name in names}, cast(View, Frame()))
    assert (card.step, card.more) == ("a A · b B · c C · d D", ["e E · f F"])


def test_a_phone_has_twenty_cards_and_the_others_folded_where_none_is_left_out(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, int] = {}
    monkeypatch.setattr(
        tables.items, "draw", lambda found, *, key, **_: drawn.update({key: len(found)})
    )
    frame = pl.DataFrame({"name": [f"n{number}" for number in range(30)]})
    look: dict[str, Any] = {"view": replace(view, is_phone=True), "alt": "names"}
    tables.show(frame, {"name": Column("name")}, key="few", **look)
    tables.show(frame, {"name": Column("name")}, key="all", most_cards=50, **look)
    assert drawn == {"few-cards": 20, "all-cards": 20, "all-more": 10}


def test_a_text_that_has_no_room_is_cut_in_its_cell_alone(view: View) -> None:
    said = "no commit for 45 min with 3 messages waiting on orders-7"
    frame = pl.DataFrame({"why": [said, "keeps up"]})
    columns = {"why": Column("why", width=160)}
    shown = styled(frame, columns, view)
    assert shown.data["why"].to_list() == [said, "keeps up"], "a double click shows all of it"
    cells = re.findall("<td[^>]*>(.*?)</td>", shown.to_html())
    assert cells == ["no commit for 45 min …", "keeps up"]
    assert said in csv(frame, columns)


def test_rates_of_a_table_are_compared_in_one_unit() -> None:
    frame = pl.DataFrame({"published": [1.6], "delivered": [0.4 / 60], "growth": [0.5]})
    columns = {
        "published": Column("published", "rate"),
        "delivered": Column("delivered", "rate"),
        "growth": Column("growth", "change"),
    }
    assert list(texts(frame, columns, cast(View, Frame()))) == [("1.6/s", "24/h", "+0.5/s")]
    rare = frame.with_columns(published=0.3, growth=-0.1)
    assert list(texts(rare, columns, cast(View, Frame()))) == [("18/min", "0.4/min", "-6/min")]


def test_rates_on_a_card_have_the_unit_of_their_column() -> None:
    frame = pl.DataFrame({"name": ["a", "b"], "rate": [120.0, 0.05]})
    columns = {"name": Column("name"), "rate": Column("arriving", "rate")}
    assert [one.step for one in cards(frame, columns, cast(View, Frame()))] == [
        *("arriving 120/s", "arriving 0.05/s"),
    ]


def test_the_link_of_a_card_has_the_name_as_it_is() -> None:
    frame = pl.DataFrame({"group": ["orders 10,000"]})
    (card,) = cards(
        frame, {"group": Column("group", opens=("group", "group"))}, cast(View, Frame())
    )
    assert card.link is not None and card.link.parameters == {"group": "orders 10,000"}


def test_a_card_without_one_badge_says_its_status_in_words() -> None:
    frame = pl.DataFrame({"partition": [0], "state": [["● offline", "▲ watch"]]})
    columns = {"partition": Column("partition"), "state": Column("state", "status")}
    (card,) = cards(frame, columns, cast(View, Frame()))
    assert card.badge is None
    assert card.step == "state ● offline, ▲ watch"


def test_sums_of_topics_say_what_they_lack() -> None:
    frame = pl.DataFrame(
        {
            "arrival_per_second": [2.0, 1.0, None],
            "partitions": [3, 4, 5],
            "size_bytes": [None, None, None],
        },
        schema_overrides={"size_bytes": pl.Int64},
    )
    assert totals(frame) == (
        "Together: arriving 3/s, 12 partitions, unknown on disk, without 3 topics not read in full"
    )
