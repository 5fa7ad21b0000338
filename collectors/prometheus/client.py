"""Asking Prometheus, through prometheus-api-client."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from prometheus_api_client import PrometheusConnect

from collectors.errors import ProtocolError
from collectors.prometheus.session import BoundedSession
from config.integrations import PrometheusSettings


@dataclass(frozen=True, slots=True)
class Series:
    """One series of an answer.

    Attributes:
        labels: Its labels, ``__name__`` included where it has one.
        points: Seconds since 1970 and value, in order of time; an instant query gives one.
    """

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


class PrometheusClient:
    """Asks one Prometheus. For one thread.

    Attributes:
        problems: What stayed unknown so far in the section that is being collected.
    """

    def __init__(self, settings: PrometheusSettings) -> None:
        """Prepare; nothing connects yet.

        Raises:
            SettingsError: A certificate file cannot be used.
        """
        self.settings = settings
        self.problems: list[str] = []
        self._session = BoundedSession(settings)
        self._api = PrometheusConnect(url=settings.url, session=self._session)
        self._session.take_over()

    def begin_poll(self, seconds: float) -> None:
        """Let the requests that follow take so many seconds together."""
        self._session.begin_poll(seconds)

    @property
    def warnings(self) -> list[str]:
        """What the server said beside its answers since the poll began."""
        return self._session.warnings

    @property
    def requests_sent(self) -> int:
        """How many requests the poll took so far."""
        return self._session.requests_sent

    def names(self, matchers: Iterable[str], since: datetime, until: datetime) -> set[str]:
        """Return the names of the metrics that match.

        Args:
            matchers: Selectors, for example ``{__name__=~"kafka_.+",job="kafka"}``; any may match.
            since: Metrics without a sample since then are left out, roughly: Prometheus tells
                names by its blocks, which hold hours.
            until: The same for samples after it.

        Raises:
            CollectorError: No answer, or none that can be understood.
        """
        params = {
            "match[]": list(matchers),
            "start": since.timestamp(),
            "end": until.timestamp(),
        }
        found = self._understood(lambda: self._api.get_label_values("__name__", params=params))
        if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
            raise self._not_understood()
        return set(found)

    def query(self, query: str) -> list[Series]:
        """Return what a query gives now, by the server's clock.

        Raises:
            CollectorError: No answer, or none that can be understood.
        """
        found = self._understood(lambda: self._api.custom_query(query))
        return list(self._series(found))

    def query_range(
        self, query: str, start: datetime, end: datetime, step: timedelta
    ) -> list[Series]:
        """Return what a query gives at ``start``, every step after it, up to ``end`` inclusive.

        Args:
            query: The query.
            start: First moment, in whole seconds: the library would round it.
            end: Last moment.
            step: From one moment to the next.

        Raises:
            TooMuchError: There are more than Prometheus's 11,000 moments, or too many samples.
            CollectorError: No answer, or none that can be understood.
        """
        found = self._understood(
            lambda: self._api.custom_query_range(
                query, start_time=start, end_time=end, step=f"{step.total_seconds():g}"
            )
        )
        return list(self._series(found))

    def close(self) -> None:
        """Give up all connections."""
        self._api.close()

    def _understood(self, ask: Any) -> Any:
        """Ask through the library, which takes every answer for a whole one."""
        try:
            return ask()
        except (KeyError, TypeError, IndexError):
            raise self._not_understood() from None

    def _series(self, found: Any) -> Iterator[Series]:
        try:
            for item in found:
                labels = {str(key): str(value) for key, value in item["metric"].items()}
                # Neither "value" nor "values": native histograms, which nothing here asks for.
                points = item["values"] if "values" in item else [item["value"]]
                known = ((float(at), float(value)) for at, value in points)
                yield Series(labels, tuple(point for point in known if math.isfinite(point[1])))
        except (AttributeError, KeyError, TypeError, ValueError):
            raise self._not_understood() from None

    def _not_understood(self) -> ProtocolError:
        return ProtocolError(
            f"{self.settings.url} answered something that is not Prometheus's: "
            "is this the right URL?"
        )


def selector(labels: Mapping[str, str], *matchers: str, name: str = "") -> str:
    """Return PromQL's selector of series with these labels.

    Args:
        labels: Label: the value that it must have; any text.
        matchers: Further matchers as PromQL has them, for example ``topic=""``.
        name: The metric's name.
    """
    equal = (f"{label}={quoted(value)}" for label, value in labels.items())
    return f"{name}{{{','.join((*equal, *matchers))}}}"


def quoted(text: str) -> str:
    """Return a text as PromQL writes it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
