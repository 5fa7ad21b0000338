"""The charts of a group: what waits, for how long, where, and what comes in and goes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from app.data import history_queries, sampled
from app.data.context import View
from app.data.history import GROUP as GROUP_MEASURES
from app.data.history import History
from app.style.charts.base import Axis
from app.style.charts.colours import colour_of
from app.style.charts.heatmaps import heat_unit, heatmap
from app.style.charts.lines import Ghost, Line, columns_chart
from app.style.format import duration
from app.ui import components, seasons
from app.ui.advice import forecast
from app.ui.time_axis import end_of, note_of
from app.views.group import view_model
from app.views.group.arrangement import Part
from lake.schemas.tables import GROUP_HISTORY

_NEUTRAL_SECONDS = 60.0
_MEASURES = {measure.name: measure for measure in GROUP_MEASURES}
_DELAYS_LACK = (
    "Gaps: a partition has waited for longer than it has been watched, so that nobody knows how "
    "old its oldest message is."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Charts:
    """The charts of one group, over one time."""

    view: View
    row: Mapping[str, Any]  # of ``group_status``
    history: History
    partitions: History
    usual: Mapping[str, pl.DataFrame]  # rows of ``seasonality`` of each metric
    axis: Axis
    before: str | None  # what to compare with

    @property
    def group(self) -> str:
        """The group's name."""
        return str(self.row["group"])

    def draw(self, part: Part) -> None:
        """Draw a chart with its title; one that cannot be read takes down itself alone."""
        match part:
            case Part.LAG:
                self._lag()
            case Part.FLOW:
                self._flow()
            case Part.PARTITIONS:
                self._partitions()
            case Part.EXPECTED:
                self._expected()

    def time_lag(self, *, log: bool, levels: Sequence[tuple[str, float]], note: str) -> None:
        """Draw the time lag, without its title: what is chosen there is of all charts.

        Args:
            log: Whether y is logarithmic.
            levels: Names and seconds of what it is compared with.
            note: What must be known to read it.
        """
        delays_lack = self.history.frame.select("lag", "time_lag_seconds").count()
        notes = (
            _DELAYS_LACK if delays_lack["lag"][0] > delays_lack["time_lag_seconds"][0] else "",
            note,
            end_of(self.view, self.history),
        )
        components.chart(
            columns_chart(
                self.history.frame,
                [self._line("time_lag_seconds", "time lag")],
                axis=self.axis,
                palette=self.view.palette,
                step_seconds=self.history.step_seconds,
                durations=True,
                log=log,
                height=100 if self.view.is_phone else 180,
                ghost=self._ghost("time_lag_seconds"),
                levels=levels,
            ),
            key="group-time-lag",
            alt=f"Age of the messages that {self.group} has not read, over time",
            note=" ".join(filter(None, notes)),
        )

    def _lag(self) -> None:
        with components.section("Lag", unit="messages waiting", log_key="group-lag-log") as log:
            notes = (seasons.unusual(self.view, self.group), end_of(self.view, self.history))
            components.chart(
                columns_chart(
                    self.history.frame,
                    [self._line("lag", "lag")],
                    axis=self.axis,
                    palette=self.view.palette,
                    step_seconds=self.history.step_seconds,
                    log=log,
                    height=self._high,
                    band=seasons.band(self.usual["lag_max"], self.view, least=1.0 if log else 0.0),
                    ghost=self._ghost("lag"),
                ),
                key="group-lag",
                alt=f"Number of the messages that {self.group} has not read, over time",
                note=" ".join(filter(None, notes)),
            )

    def _flow(self) -> None:
        with components.section(
            "Arriving and consumed", unit="messages a second", is_folded=self.view.is_phone
        ):
            of_samples = sampled.of_groups(self.view, [self.group])
            rates = of_samples or history_queries.group_rates(self.view, self.group)
            components.chart(
                columns_chart(
                    rates.frame,
                    [
                        Line(column="arrival_per_second", name="arriving"),
                        Line(column="consumption_per_second", name="consumed"),
                    ],
                    axis=self.axis,
                    palette=self.view.palette,
                    step_seconds=rates.step_seconds,
                    height=self._high,
                    band=seasons.band(self.usual["arrival_per_second"], self.view),
                    ghost=self._ghost("arrival_per_second"),
                ),
                key="group-flow",
                alt=f"Messages a second that arrive for {self.group} and that it consumes, over "
                "time",
                note=note_of(self.view, rates),
            )
            seasons.draw_changes(self.view, "group", self.group)

    def _partitions(self) -> None:
        rows, total = view_model.heat_rows(self.partitions.frame)
        # A delay longer than the collectors have watched is unknown: then the counts tell more.
        by_time = not view_model.lacks_delays(rows)
        with components.section(
            "Time lag by partition" if by_time else "Lag by partition",
            unit=heat_unit(rows["time_lag_seconds"], _NEUTRAL_SECONDS) if by_time else "messages",
            help_text="One row a partition: a stuck or hot one stands out. Blank is not known. "
            f"Less than {duration(_NEUTRAL_SECONDS)} of arrivals stays in neutral colours.",
            is_folded=self.view.is_phone,
        ):
            if rows["lag"].null_count() == rows.height:
                components.nothing("No lag of a partition is known in this range.")
                return
            neutral = _NEUTRAL_SECONDS
            if not by_time:
                arrival, count = self.row["arrival_per_second"], self.row["partitions"] or 0
                neutral = view_model.neutral_lag(arrival, count, _NEUTRAL_SECONDS)
            most = (
                f"{view_model.HEATMAP_ROWS} of {total} partitions: the highest lag."
                if total > view_model.HEATMAP_ROWS
                else None
            )
            components.chart(
                heatmap(
                    rows,
                    value="time_lag_seconds" if by_time else "lag",
                    axis=self.axis,
                    palette=self.view.palette,
                    step_seconds=self.partitions.step_seconds,
                    unit=None if by_time else "messages",
                    neutral=neutral,
                ),
                key="group-heat",
                alt=f"Lag of each partition of {self.group} over time",
                note=" ".join(filter(None, (most, end_of(self.view, self.partitions)))),
            )

    def _expected(self) -> None:
        with components.section(
            "Expected to arrive", unit="messages a second", is_folded=self.view.is_phone
        ):
            forecast.draw(self.view, "group", self.group)

    @property
    def _high(self) -> int:
        return 90 if self.view.is_phone else 140

    def _line(self, column: str, name: str) -> Line:
        own = colour_of(self.group, self.view.palette)
        return Line(column=column, name=name, colour=own)

    def _ghost(self, column: str) -> Ghost | None:
        about = (self.view, self.before, GROUP_HISTORY, "group", self.group)
        return seasons.ghost(*about, measure=_MEASURES[column])
