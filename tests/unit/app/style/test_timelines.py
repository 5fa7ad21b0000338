"""Timelines: a bar for what lasted, and its severity."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest

from app.style.charts.base import ChartEvent, plot
from app.style.charts.timelines import beside_names, shown_of, timeline_chart
from app.style.theme import LIGHT
from tests.unit.app.style.test_charts import AXIS, START


def test_names_of_a_timeline_stand_at_the_left_of_their_bars_whole_in_two_lines() -> None:
    time = AXIS.start + timedelta(minutes=5)
    long = "order-fulfilment-of-the-other-region loses data soon, and again"
    rows = pl.DataFrame({"what": [long, "  short"], "severity": ["critical"] * 2}).with_columns(
        pl.lit(time).alias("from"), pl.lit(AXIS.end).alias("to")
    )
    axis = replace(AXIS, pixels=600)
    made = timeline_chart(rows, axis=axis, palette=LIGHT)
    named = [(note.text, note.y, note.x, note.xref) for note in made.layout.annotations]
    said = "order-fulfilment-of-the-other-region loses data<br>soon, and again"
    assert named == [(said, long, 0, "paper"), ("\u00a0\u00a0short", "  short", 0, "paper")]
    left = made.layout.margin.l
    assert {note.xshift for note in made.layout.annotations} == {-left}, "before the first bar"
    (bar, *_) = made.data
    assert bar.offset == -bar.width / 2, "beside its name"
    beside = beside_names(plot(LIGHT, height=100).done(), axis)
    assert beside.layout.margin.l == left, "one time axis below the other"
    on_phone = timeline_chart(rows, axis=AXIS, palette=LIGHT)
    assert on_phone.layout.margin.l < left
    assert on_phone.layout.annotations[0].text == (
        "order-fulfilment-<br>of-the-other-region<br>loses data soon,…"
    )


def test_labels_of_marks_lie_above_the_bars_of_a_timeline() -> None:
    bars = pl.DataFrame(
        {"what": ["a", "b"], "severity": "info", "from": [START] * 2, "to": [AXIS.end] * 2}
    )
    bare, marked = (
        timeline_chart(bars, axis=replace(AXIS, events=events), palette=LIGHT)
        for events in ((), (ChartEvent(at=START, text="broker 2 is missing"),))
    )
    assert bare.layout.yaxis.domain is None
    assert marked.layout.yaxis.domain[1] < 1
    assert marked.layout.height > bare.layout.height, "bars keep their height"


@pytest.mark.parametrize(("lines", "said"), [(30, None), (31, "the first 30 of 31 lines")])
def test_a_timeline_says_which_lines_it_draws(lines: int, said: str | None) -> None:
    names = [str(number) for number in range(lines)]
    bars = pl.DataFrame(
        {"what": names, "severity": "info", "from": [START] * lines, "to": [AXIS.end] * lines}
    )
    note = shown_of(bars)
    assert note is None if said is None else note is not None and said in note
    drawn = timeline_chart(bars, axis=AXIS, palette=LIGHT).layout.annotations
    assert [note.text for note in drawn] == names[:30]


def test_severities_of_a_timeline_differ_by_more_than_their_colour() -> None:
    rows = pl.DataFrame(
        {"what": list("abcd"), "severity": ["critical", "warning", "info", "pending"]}
    ).with_columns(pl.lit(START).alias("from"), pl.lit(AXIS.end).alias("to"))
    *bars_drawn, ends = timeline_chart(rows, axis=AXIS, palette=LIGHT).data
    assert [one.name for one in bars_drawn] == ["● act now", "▲ watch", "i note", "○ pending"]
    assert len({one.marker.pattern.shape for one in bars_drawn}) == 4
    act, *others = bars_drawn
    assert (act.marker.pattern.shape, act.marker.color) == ("", LIGHT.act)
    for one in others:
        pattern = one.marker.pattern
        assert (pattern.fillmode, pattern.fgcolor) == ("replace", one.marker.color)
        assert pattern.bgcolor == f"{one.marker.color}38", "calmer than what is to be acted on"
    assert list(ends.x) == [AXIS.local(AXIS.start), AXIS.local(AXIS.end)]


def test_short_bars_are_wide_enough_to_be_seen_and_lie_above_long_ones() -> None:
    """Given what lasts the whole hour, and what lasted seconds on the same line and at the end."""
    axis = replace(AXIS, pixels=360)  # ten seconds a pixel
    at = START + timedelta(minutes=20)
    second = timedelta(seconds=1)
    spans = [
        ("long", "pending", at, at + second),
        ("long", "warning", at, at + second),
        ("long", "warning", START - second, axis.end + second),
        ("ends", "critical", axis.end - second, axis.end),
    ]
    rows = pl.DataFrame(
        spans,
        orient="row",
        schema={
            **{"what": pl.String, "severity": pl.String},
            **dict.fromkeys(("from", "to"), pl.Datetime("us", "UTC")),
        },
    )
    *bars, _ = timeline_chart(rows, axis=axis, palette=LIGHT).data
    drawn = [(one.name, one.base[0], one.x[0] / 1000) for one in bars]
    assert drawn == [
        ("▲ watch", axis.local(START), 3600),
        ("○ pending", axis.local(at), 40),
        ("▲ watch", axis.local(at), 40),
        ("● act now", axis.local(axis.end - timedelta(seconds=40)), 40),
    ]
    assert [one.showlegend for one in bars] == [True, True, False, True], "each name once"
    assert bars[2].customdata[0] == f"{at:%H:%M:%S} to {at + second:%H:%M:%S}", "as long as it was"


def test_a_number_and_its_unit_stay_on_one_line_of_a_name() -> None:
    what = "warehouse_sink.dlq keeps dead letters for 1 d only"
    rows = pl.DataFrame({"what": [what], "severity": ["info"]}).with_columns(
        pl.lit(AXIS.start).alias("from"), pl.lit(AXIS.end).alias("to")
    )
    texts = [
        timeline_chart(rows, axis=replace(AXIS, pixels=pixels), palette=LIGHT)
        .layout.annotations[0]
        .text
        for pixels in range(300, 700, 20)
    ]
    assert any("<br>" in text for text in texts)
    assert all("1\u00a0d" in text or "…" in text for text in texts)
    assert not any("1<br>d" in text or text.endswith("1…") for text in texts)
