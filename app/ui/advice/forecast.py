"""What is expected to arrive, as the pages of a group and a topic show it."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from app.data import history_queries, queries
from app.data.context import View
from app.style.charts.advice import forecast_chart
from app.style.charts.base import Axis
from app.style.format import escape, share
from app.ui import components
from lake.schemas.tables import CONTRIBUTORS, FORECASTS, GROUP_HISTORY, TOPIC_HISTORY

WEEK_SECONDS = 7 * 86400

LEAST_CHANGE = 0.01
LEAST_COVERAGE = 0.75
"""A band that should hold 90 % of what comes and held less than this is not drawn."""


def draw(view: View, subject: str, name: str) -> None:
    """Draw the next hours' arrival, its band and how such forecasts did; or why there are none."""
    numbers = forecast(view, subject, name)
    if isinstance(numbers, str):
        components.nothing(numbers, icon=":material/hourglass:")
        return
    table = GROUP_HISTORY if subject == "group" else TOPIC_HISTORY
    past = history_queries.past_day(view, table, subject, name)
    components.chart(
        forecast_chart(
            numbers,
            axis=Axis(
                start=past.first or view.now,
                end=view.now,
                zone=view.zone,
                generated_until=past.generated_until,
            ),
            palette=view.palette,
            past=past.frame,
        ),
        key=f"{subject}-expected",
        alt=f"Messages a second that are expected to arrive for {name}, with their 90 % band",
        note=quality(numbers.row(0, named=True), is_shaded=past.generated_until is not None),
    )


def forecast(view: View, subject: str, name: str) -> pl.DataFrame | str:
    """Return the rows of a forecast of arrival, soonest first, or why there are none."""
    rows = _rows(view, subject, name)
    numbers = _numbers(rows)
    if numbers.is_empty():
        reason = rows["reason"].drop_nulls().to_list()
        return (
            f"There is no forecast: {escape(reason[0])}." if reason else "No forecast was made yet."
        )
    one = numbers.row(0, named=True)
    if not holds(one):
        return (
            f"No forecast is drawn: of {one['held_back_hours']} hours held back only "
            f"{share(one['coverage_90'])} lay inside the band that should hold {share(0.9)}."
        )
    return numbers


def expected(view: View, subject: str, name: str) -> pl.DataFrame | None:
    """Return the rows of a forecast whose band held, soonest first; None: there is none."""
    rows = _numbers(_rows(view, subject, name))
    return rows if rows.height and holds(rows.row(0, named=True)) else None


def _rows(view: View, subject: str, name: str) -> pl.DataFrame:
    return queries.derived(view, FORECASTS, subject=subject, name=name, metric="arrival_per_second")


def _numbers(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("high_90").is_not_null()).sort("window_start")


def holds(row: Mapping[str, object]) -> bool:
    """Return whether a forecast's band held what came, as far as that was measured."""
    held = row["coverage_90"]
    return not isinstance(held, float) or held >= LEAST_COVERAGE


def quality(forecast: dict[str, object], *, is_shaded: bool = False) -> str:
    """Say how far a forecast can be trusted, from a row of ``forecasts``.

    Args:
        forecast: The row.
        is_shaded: Whether the figure shows generated history, shaded.
    """
    said = []
    if forecast["generated"] or is_shaded:
        shaded = " (shaded)" if is_shaded else ""
        said.append(f"Generated history{shaded} is behind this forecast.")
    hours, held = forecast["held_back_hours"], forecast["coverage_90"]
    if isinstance(held, float):
        said.append(f"Of {hours} hours held back, {share(held)} lay inside such a band.")
    else:
        said.append("There was too little history to hold any back and measure the band.")
    return " ".join(said)


def growth(contributors: pl.DataFrame) -> pl.DataFrame:
    """Return the topics that changed a cluster's arrival most in a week, largest change first.

    A topic that changed by less than a hundredth has not changed.
    """
    rates = pl.max_horizontal("before_per_second", "now_per_second")
    has_changed = pl.col("change_per_second").abs() >= LEAST_CHANGE * rates
    return contributors.filter(
        pl.col("span_seconds") == WEEK_SECONDS, has_changed.fill_null(value=True)
    ).sort("rank")


def contributors(view: View) -> pl.DataFrame:
    """Return what ``growth`` does, of the cluster that is shown."""
    return growth(queries.derived(view, CONTRIBUTORS))
