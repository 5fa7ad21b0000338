"""What a chart says to who does not see it."""

from __future__ import annotations

import polars as pl

from app.style.charts.heatmaps import bars
from app.style.charts.lines import Line, columns_chart
from app.style.charts.words import in_words
from app.style.theme import LIGHT
from tests.unit.app.style.test_charts import AXIS, chart, frame


def test_what_lines_say_is_told_in_words() -> None:
    two = chart(frame(a=[1.0, 4200.0, 2.0], b=[5.0, 7.0, None]))
    assert in_words(two) == (
        "a: last 2, highest 4.2\u202fk at 08:02; b: last unknown, highest 7 at 08:02."
    )
    many = chart(frame(**{f"g{number}": [number * 1.0] for number in range(8)}), limit=10)
    assert in_words(many).endswith("; 3 more lines.")
    assert in_words(chart(frame(a=[None, None]))) == ""
    assert in_words(chart(frame(**{"<b>": [1.0], "c": [2.0]}))).endswith(
        "<b>: last 1, highest 1 at 08:01."
    )


def test_durations_are_told_as_they_are_written_and_levels_left_out() -> None:
    late = frame(a=[30.0, 5400.0]).rename({"lag": "late"})
    drawn = columns_chart(
        late,
        [Line(column="late", name="time lag")],
        axis=AXIS,
        palette=LIGHT,
        step_seconds=60,
        durations=True,
        levels=[("objective 5 min", 300.0), ("retention 1 h", 3600.0)],
    )
    assert in_words(drawn) == "last 1 h 30 min, highest 1 h 30 min at 08:02."


def test_bars_are_no_lines_over_time() -> None:
    rows = pl.DataFrame({"broker": ["1", "2"], "leaders": [3.0, 4.0]})
    drawn = bars(rows, label="broker", value="leaders", palette=LIGHT, unit="leaders")
    assert in_words(drawn) == ""
