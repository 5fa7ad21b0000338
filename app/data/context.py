"""What the viewer has chosen: cluster, time range, zone and theme, for the page that runs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import streamlit as st

from app.data.time_range import TimeRange
from app.data.viewer import Viewer
from app.data.visible_lake import VisibleLake
from app.style.format import clock, clock_after
from app.style.theme import Palette, palette
from config.settings import Settings

_KEY = "_view"
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The frame that a page is drawn in."""

    settings: Settings
    viewer: Viewer
    lake: VisibleLake
    cluster: str
    range: TimeRange
    now: datetime
    zone: tzinfo
    palette: Palette
    is_phone: bool
    has_range: bool = True  # whether the page is of the chosen range, not of a time of its own
    # What was read of the present: once, so that all that a page says is of one moment.
    held: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def once(self, what: Hashable, read: Callable[[], _Value]) -> _Value:
        """Return what is read of the present; what was read before, as long as the page runs.

        Args:
            what: What it is, of the lake as the viewer sees it.
            read: Reads it.
        """
        key = (self.cache_key, what)
        if key not in self.held:
            self.held[key] = read()
        found: _Value = self.held[key]
        return found

    def anew(self) -> View:
        """Return the same frame at the present moment, which has read nothing yet."""
        return replace(self, now=utc_now(), held={})

    @property
    def interval_seconds(self) -> float:
        """The cadence of the cluster's polls."""
        return self.settings.poll_interval_seconds(self.settings.cluster(self.cluster))

    @property
    def evaluated_every_seconds(self) -> float:
        """How often an evaluation finds new samples of the cluster."""
        return max(self.interval_seconds, self.settings.alerting.evaluate_seconds or 0.0)

    @property
    def start(self) -> datetime:
        """The first moment of the chosen range."""
        return self.range.start(self.now)

    @property
    def until(self) -> datetime:
        """The last moment of the chosen range: now, unless it was fixed."""
        return self.range.until(self.now)

    @property
    def period(self) -> str:
        """The chosen range in words: ``in the last 6 hours``, ``from 13:00 to 14:30``."""
        if self.range.end is None:
            return f"in the last {self.range.label}"
        begin = self.range.end - self.range.length
        last = clock_after(self.range.end, begin, self.zone, now=self.now)
        return f"from {clock(begin, self.zone, now=self.now)} to {last}"

    @property
    def address(self) -> dict[str, str]:
        """What of the frame stands in the address of every page."""
        chosen = {"cluster": self.cluster}
        fixed = self.range.end is not None
        return (
            {**chosen, "between": self.range.key} if fixed else {**chosen, "range": self.range.key}
        )

    @property
    def sources_beside(self) -> list[str]:
        """The seen sources that belong to no Kafka cluster, which are RabbitMQ servers."""
        own = (self.settings.cluster_of(source) for source in self.settings.integrations)
        kafka = {one.name for one in self.settings.clusters}
        return [name for name in own if name not in kafka and self.viewer.sees(name)]

    def place(self, name: str) -> str:
        """Return the name of a cluster; of a source beside them with its kind: ``RabbitMQ eu``."""
        return f"RabbitMQ {name}" if name in self.sources_beside else name

    @property
    def clusters(self) -> list[str]:
        """The clusters that the viewer sees."""
        return seen_clusters(self.settings, self.viewer)

    @property
    def cache_key(self) -> str:
        """Which lake, and what the viewer sees of it: the first part of every cache key."""
        return f"{self.settings.lake.uri}#{self.viewer.key}"


def seen_clusters(settings: Settings, viewer: Viewer) -> list[str]:
    """Return the clusters that somebody sees."""
    return [one.name for one in settings.clusters if viewer.sees(one.name)]


def open_view(
    settings: Settings,
    viewer: Viewer,
    lake: VisibleLake,
    cluster: str | None,
    chosen: TimeRange,
    now: datetime,
    *,
    has_range: bool = True,
) -> View:
    """Begin a page: keep what was chosen for the page's script to find."""
    known = seen_clusters(settings, viewer)
    view = View(
        settings=settings,
        viewer=viewer,
        lake=lake,
        cluster=cluster if cluster in known else known[0],
        range=chosen,
        now=now,
        zone=viewer_zone(),
        palette=palette(st.context.theme.type),
        # What browsers of phones have in common, and others lack.
        is_phone="Mobi" in st.context.headers.get("User-Agent", ""),
        has_range=has_range,
    )
    st.session_state[_KEY] = view
    return view


def utc_now() -> datetime:
    """Return the present moment in UTC."""
    return datetime.now(UTC)


def current() -> View:
    """Return the frame of the page that runs."""
    view: View = st.session_state[_KEY]
    return view


def viewer_zone() -> tzinfo:
    """Return the time zone of the viewer's browser; UTC where it has not said."""
    name = st.context.timezone
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError):
        return UTC
