"""What the page of advice shows beside the cards: figures of one group, advice that was given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
import streamlit as st

from alerting.status.model import DEFAULT_STATUS_RULES, PartitionStatus
from app.data import history_queries
from app.data.context import View
from app.data.history import History
from app.style.charts.advice import HEIGHT, Limit, Load, forecast_chart, load_chart, skew_chart
from app.style.charts.base import Axis
from app.style.charts.lines import Line, columns_chart
from app.style.columns import Column
from app.style.format import count, duration, escape
from app.ui import components, tables
from app.ui.advice import advice_history, forecast
from app.ui.advice.advice_cards import WORDS
from app.ui.time_axis import note_of, page_axis
from scaling.advice.model import AdviceKind, Subject
from scaling.advisers.group_evidence import hot_partitions
from scaling.advisers.size_facts import inputs, why_not_sized
from scaling.facts.group_facts import GroupFacts
from scaling.sizing.size import SizeInputs

_MOST_ROWS = 200
_LOAD, _SKEW = "Load against capacity", "What each partition gets"
_EXPECTED = "What is expected to arrive"
_UNITS = {
    _LOAD: "messages a second of the busiest",
    _SKEW: "messages a second",
    _EXPECTED: "messages a second",
}
"""What figures count."""
_A_ROW = 3


def evidence(view: View, facts: GroupFacts, proposed: int | None) -> None:
    """Draw what the advice on a group was taken from; a line says which figures it has not."""
    asked = inputs(facts)
    consumers, lag = f"Consumers {view.period}", f"Lag {view.period}"
    units = {**_UNITS, lag: "messages waiting"}
    figures: dict[str, Callable[[], None]] = {}
    lacking: dict[str, str] = {}
    if asked is None:
        why = escape(why_not_sized(facts))
        lacking[_LOAD] = f"{why[:1].upper()}{why[1:]}."
    else:
        figures[_LOAD] = lambda: _load(view, facts, asked, proposed)
    rates = [
        (_name(facts, p.status), p.status.numbers.arrival_per_second)
        for p in facts.partitions
        if p.status.subscribed
    ]
    if all(one is None for _, one in rates):
        lacking[_SKEW] = why_no_rates(facts)
    else:
        figures[_SKEW] = lambda: _skew(view, facts, rates)
    with components.guarded():
        numbers = forecast.forecast(view, "group", facts.group)
        if isinstance(numbers, str):
            lacking[_EXPECTED] = numbers
        else:
            figures[_EXPECTED] = lambda: _expected(view, numbers, asked, proposed)
    with components.guarded():
        history = history_queries.group_history(view, [facts.group])
        if history.frame.is_empty():
            lacking["Consumers, and lag"] = "No history is known yet."
        else:
            figures[consumers] = lambda: _course(
                view,
                history,
                Line(column="members", name="consumers", steps=True),
                alt="Number of consumers over time",
            )
            figures[lag] = lambda: _course(
                view, history, Line(column="lag", name="lag"), alt="Lag over the same time"
            )
    drawn = list(figures.items())
    for first in range(0, len(drawn), _A_ROW):
        row = drawn[first : first + _A_ROW]
        # Fewer have the whole width too.
        for column, (title, figure) in zip(st.columns(len(row), gap="small"), row, strict=True):
            with column, components.section(title, unit=units.get(title)):
                figure()
    if lacking:
        st.caption(" ".join(f"**{title}**: {why}" for title, why in lacking.items()))


def _load(view: View, facts: GroupFacts, asked: SizeInputs, proposed: int | None) -> None:
    components.chart(
        load_chart(
            loads(asked),
            limit(facts),
            current=asked.consumers,
            proposed=proposed,
            palette=view.palette,
        ),
        key="load",
        alt="Load of the busiest consumer by number of consumers, against what one can do",
        note="Only these numbers of consumers make a difference; the band is the 90 % "
        "interval of what one consumer can process.",
    )


def _skew(view: View, facts: GroupFacts, rates: Sequence[tuple[str, float | None]]) -> None:
    uneven = hot_partitions(facts)
    hot = {
        _name(facts, p.status)
        for p in facts.partitions
        if p.status.topic in uneven and p.status.partition in uneven[p.status.topic].hot
    }
    low = facts.capacity.low if facts.capacity is not None else None
    components.chart(
        skew_chart(rates, hot, low, palette=view.palette),
        key="skew",
        alt="Messages a second by partition",
        note=f"Hot: {escape(', '.join(sorted(hot)))}." if hot else "No partition is hot.",
    )


def _course(view: View, history: History, line: Line, *, alt: str) -> None:
    """Draw a column of a group's history."""
    components.chart(
        columns_chart(
            history.frame,
            [line],
            axis=page_axis(view, history),
            palette=view.palette,
            step_seconds=history.step_seconds,
            height=HEIGHT,
            legend_lines=1,  # as the figure beside it may have
        ),
        key=f"tried-{line.column}",
        alt=alt,
        note=note_of(view, history),
    )


def loads(asked: SizeInputs) -> list[Load]:
    """Return what the busiest consumer gets at each number that makes a difference.

    Where there are many, only those around the present number.
    """
    counts = sorted({*asked.assignment.counts, asked.consumers})
    return [
        Load(
            consumers=number,
            per_second=float(np.bincount(asked.assignment.holders(number), asked.arrival).max()),
        )
        for number in counts
    ]


def limit(facts: GroupFacts) -> Limit:
    """Return what one consumer of a group can process."""
    capacity = facts.capacity
    if capacity is None:
        return Limit(low=None, high=None, per_second=None)
    return Limit(low=capacity.low, high=capacity.high, per_second=capacity.per_second)


def history(view: View) -> None:
    """Draw the advice of the last days and what became of it."""
    rows = advice_history.listed(view)
    if advice_history.given(view).is_empty():
        components.nothing(
            "No advice was written down yet: the history service does so every ten minutes.",
            icon=":material/history:",
        )
        return

    def with_outcomes(some: pl.DataFrame) -> pl.DataFrame:
        became = [advice_history.words(one, view) for one in advice_history.outcomes(view, some)]
        return some.with_columns(
            pl.col("kind")
            .map_elements(lambda kind: WORDS[AdviceKind(kind)], return_dtype=pl.String())
            .alias("advice"),
            pl.struct("current", "proposed", "quantity")
            .map_elements(advice_history.change, return_dtype=pl.String())
            .alias("change"),
            pl.Series("became", became, dtype=pl.String()),
        )

    tables.show(
        with_outcomes(rows.head(_MOST_ROWS)),
        {
            "subject": Column("subject", width=180),
            "advice": Column("advice", width=170),
            "change": Column("change", width=250),
            "valid_from": Column("given", "time", width=110),
            "confirmed_at": Column("last given", "time", width=110),
            "became": Column("what became of it", width="large"),
        },
        view=view,
        key="advice-history",
        alt="Advice that was given, the newest first, and what became of it",
        total=rows.height,
        noun="pieces of advice, the newest first",
        every=lambda: with_outcomes(rows),
    )


def first_of(rows: pl.DataFrame, group: str) -> dict[str, Any]:
    """Return the first advice on the consumers of a group.

    Args:
        rows: Rows of ``recommendations``, in the order in which they are shown.
        group: A group that they advise on.
    """
    of_group = rows.filter(pl.col("subject_kind") == Subject.GROUP, pl.col("subject") == group)
    # Of a group without advice on its consumers the first piece of any kind.
    counted = pl.col("quantity") != "consumers"
    return of_group.sort(counted, maintain_order=True).row(0, named=True)


def _expected(
    view: View, numbers: pl.DataFrame, asked: SizeInputs | None, proposed: int | None
) -> None:
    axis = Axis(start=view.now, end=view.now, zone=view.zone)
    capacities = []
    if asked is not None and asked.capacity.low:
        numbers_of = {"now": asked.consumers, "advised": proposed}
        capacities = [
            (f"{count(number, 'consumer')} ({name})", _sustained(asked, number))
            for name, number in numbers_of.items()
            if number and (name == "now" or number != asked.consumers)
        ]
    components.chart(
        forecast_chart(numbers, axis=axis, palette=view.palette, capacities=capacities),
        key="forecast",
        alt="Expected arrival over the next hours with its 90 % band",
        note="Generated history is behind this forecast."
        if bool(numbers["generated"].fill_null(False).any())
        else None,
    )


def _sustained(asked: SizeInputs, consumers: int) -> float:
    """Return the arrival at which the busiest of a number of consumers is at its limit."""
    total = float(asked.arrival.sum())
    busiest = float(np.bincount(asked.assignment.holders(consumers), asked.arrival).max())
    return (asked.capacity.low or 0.0) * (total / busiest if busiest > 0 else consumers)


def _name(facts: GroupFacts, status: PartitionStatus) -> str:
    """Name a partition: by its number alone where the group reads one topic."""
    number = str(status.partition)
    return number if len(facts.subscribed) == 1 else f"{status.topic}-{number}"


def why_no_rates(facts: GroupFacts) -> str:
    """Say why it is not known how much arrives in the partitions of a group."""
    needed = DEFAULT_STATUS_RULES.trend_seconds
    if facts.status.numbers.span_seconds < needed:
        return f"It is known once the polls cover {duration(needed)}."
    return "The log ends of its partitions are unknown."
