"""A week in pictures: its incidents as rows and bars, and who missed an objective for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import plotly.graph_objects as go
import polars as pl

from alerting.status.phrases import or_before
from app.data.context import View
from app.style.charts.base import Axis, plain, plot
from app.style.charts.timelines import shown_of, timeline_chart
from app.style.columns import ROW_PIXELS
from app.style.format import clock, clock_after, duration, thin
from app.style.theme import Palette
from app.ui import incident_list, incident_timeline
from app.ui.alert_list import moment
from app.ui.browser.items import Item
from app.ui.incidents import Incident
from app.ui.symptoms import lines_in_all, symptoms_in_all
from app.views.week.view_model import had

_MOST_UNKNOWN = 0.5
"""Where more of a week is not known than this, what is known would be too narrow to be read."""
_SHADE = "rgba(128, 128, 128, 0.12)"
_CLOSER = 12
"""So much closer a chart stands to what is above it than a table."""
HEADS = ("What was wrong", "", "Began → over")


def items(found: Sequence[Incident], rows: pl.DataFrame, view: View) -> list[Item]:
    """Return the incidents of a week as rows of a list, each a link to its page.

    Args:
        found: The incidents, of which some may not be in the week.
        rows: Those of the week, as ``incident_part`` has them.
        view: The frame of the page.
    """
    known: Mapping[str, Incident] = {one.cause.id: one for one in found}
    return [_item(known[row["id"]], row, view) for row in rows.iter_rows(named=True)]


def _item(one: Incident, row: Mapping[str, object], view: View) -> Item:
    began, ended = moment(one.began_at), row["ended"]
    at = or_before(clock(began, view.zone, now=view.now), at_least=bool(row["began_before"]))
    over = (
        clock_after(ended, began, view.zone, now=view.now)
        if isinstance(ended, datetime) and row["now"] != "catches up"
        else str(row["now"])
    )
    seconds = row["seconds"]
    lasted = duration(seconds) if isinstance(seconds, float) else ""
    return Item(
        id=one.cause.id,
        badge=had(one),
        what=thin(str(row["what"])),
        when=f"{at} → {over}",
        why=thin(str(row["detail"])),
        note=symptoms_in_all(one),
        link=incident_list.story(one.cause.id, thin(str(row["what"]))),
        more_label=f"{'for' if row['now'] == 'goes on' else 'lasted'} {lasted}",
        more=lines_in_all(one),
    )


def known_from(first: datetime | None, found: Sequence[Incident], start: datetime) -> datetime:
    """Return from when on something is known of a week: history, or what fired.

    Args:
        first: The first moment that was measured.
        found: The incidents of the week.
        start: The week's first moment.
    """
    begins = [at for one in found if (at := moment(one.began_at)) is not None]
    return max(start, min([*begins, *([] if first is None else [first])], default=start))


def axis_of(known: datetime, start: datetime, end: datetime, view: View) -> Axis:
    """Return the axis of a week: of what is known alone, where that is a small part of it."""
    is_little = (known - start) > _MOST_UNKNOWN * (end - start)
    axis = Axis(start=known if is_little else start, end=end, zone=view.zone)
    return axis if view.is_phone else replace(axis, pixels=615)


def timeline(
    found: Sequence[Incident], known: datetime, axis: Axis, view: View
) -> tuple[go.Figure, str | None]:
    """Draw when causes began and were mended; return it, and what it leaves out.

    Args:
        found: The incidents of the week.
        known: From when on something is known.
        axis: The axis of the week.
        view: The frame of the page.
    """
    bars = incident_timeline.timeline_rows([replace(one, symptoms=()) for one in found], view.now)
    made = timeline_chart(bars, axis=axis, palette=view.palette)
    if known > axis.start:
        begin, end = axis.local(axis.start), axis.local(known)
        made.add_shape(
            **{"type": "rect", "x0": begin, "x1": end, "y0": 0, "y1": 1, "yref": "paper"},
            **{"fillcolor": _SHADE, "line": {"width": 0}, "layer": "below"},
        )
        made.add_annotation(
            **{"x": begin + (end - begin) / 2, "y": 0.5, "yref": "paper", "showarrow": False},
            **{"text": "not watched", "font": {"color": view.palette.quiet}},
        )
    return made, shown_of(bars)


def over_bars(rows: pl.DataFrame, palette: Palette) -> go.Figure:
    """Draw for how long each group was over its objective, at the height of its row of the table.

    Args:
        rows: Rows of ``objective_part`` that are in the history.
        palette: The colours.
    """
    longest = rows["over_seconds"].max()
    made = plot(palette, height=ROW_PIXELS * rows.height, legend=False)
    made.layout["margin"].update({"l": 170, "r": 64, "t": ROW_PIXELS + _CLOSER, "b": 4})
    names = [plain(name) for name in rows["group"]]
    seconds = rows["over_seconds"].to_list()
    made.traces.append(
        {
            **{"type": "bar", "orientation": "h", "x": seconds, "y": names, "width": 0.5},
            **{"text": [duration(one) for one in seconds], "textposition": "outside"},
            **{"cliponaxis": False, "marker": {"color": palette.first}},
            "hovertemplate": "%{y}: %{text}<extra></extra>",
        }
    )
    made.x.update(visible=False, range=[0, longest], fixedrange=True)
    made.y.update(
        **{"type": "category", "categoryorder": "array", "categoryarray": names[::-1]},
        **{"tickformat": None, "nticks": None, "dtick": 1, "showgrid": False, "automargin": False},
        **{"ticks": "outside", "ticklen": 6, "tickcolor": "rgba(0,0,0,0)"},
    )
    made.layout["hovermode"] = "closest"
    return made.done()
