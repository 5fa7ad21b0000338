"""Asking Prometheus: prometheus-api-client makes the requests, the HTTP client sends them.

The library by itself waits for ever, tries a busy server three times whatever the time there is,
and drops the warnings of an answer. It lets its user bring the session.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from prometheus_api_client import PrometheusConnect

from collectors.errors import CollectorError, ProtocolError, SettingsError
from collectors.source.answer import Odd, objects, parse
from collectors.source.excerpt import short
from collectors.source.http_client import HttpClient, TooLargeError
from config.integrations import PrometheusSettings

_BUSY = (408, 500)
# Over 11,000 moments; over the server's own limits of samples.
_TOO_MUCH = ("exceeded", "too many samples")

# The year 9999, in seconds since 1970.
_LATEST = 253_402_300_799


class TooMuchError(CollectorError):
    """The server cannot answer so much at once: ask for less time, or with a longer step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One series of an answer.

    Attributes:
        labels: Its labels, ``__name__`` included where it has one.
        points: Seconds since 1970 and value, in order of time; an instant query gives one.
    """

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What the library sees of an answer."""

    parsed: Any
    status_code: int = 200

    def json(self) -> Any:
        return self.parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Session:
    """What the library asks over in place of a session of requests."""

    ask: Callable[[str, Mapping[str, Any]], Any]
    close: Callable[[], None]
    verify: bool = True
    cert: None = None

    def mount(self, *_: object) -> None:
        """Take no adapter: its retries would know nothing of the poll's time."""

    def request(self, url: str, params: Mapping[str, Any], **_: object) -> _Answer:
        return _Answer(parsed=self.ask(url, params))


class PrometheusClient(HttpClient):
    """Asks one Prometheus. For one thread."""

    # About a million points, which take ten times as much in memory.
    largest_bytes = 24 * 1024 * 1024

    def __init__(self, settings: PrometheusSettings) -> None:
        super().__init__(settings)
        self._api = PrometheusConnect(
            url=settings.url, session=_Session(ask=self._query, close=self.close)
        )

    def begin_poll(self, seconds: float) -> None:
        """Let the requests that follow share this many seconds."""
        super().begin_poll(seconds)
        self.warnings: list[str] = []
        self.odd = Odd()

    def refusal(self, path: str, status: int, body: bytes) -> Exception:
        """Separate queries that are too large from other failures."""
        where = self.settings.url
        if status == 404:
            return SettingsError(f"{where} has no query API (404): is this Prometheus's URL?")
        try:
            parsed = parse(body)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict) or "error" not in parsed:
            return super().refusal(path, status, body)
        said = short(str(parsed["error"]))
        is_limit = status in (400, 422) and any(sign in said for sign in _TOO_MUCH)
        if is_limit or parsed.get("errorType") == "timeout":
            return TooMuchError(f"{where} finds a query too large ({status}): {said}")
        return super().refusal(path, status, said.encode())

    def names(self, matchers: Iterable[str], since: datetime, until: datetime) -> set[str]:
        """Return the names of the metrics that match.

        Args:
            matchers: Selectors, for example ``{__name__=~"kafka_.+",job="kafka"}``; any may match.
            since: Metrics without a sample since then are left out, roughly: Prometheus tells
                names by its blocks, which hold hours.
            until: The same for samples after it.
        """
        params = {
            "match[]": list(matchers),
            "start": since.timestamp(),
            "end": until.timestamp(),
        }
        found = self._understood(lambda: self._api.get_label_values("__name__", params=params))
        if not isinstance(found, list):
            raise self._not_understood()
        names = {name for name in found if isinstance(name, str)}
        if not names and found:
            raise self._not_understood()
        if not all(isinstance(name, str) for name in found):
            self.odd.note("names of metrics")
        return names

    def query(self, query: str) -> list[Series]:
        """Return what a query gives now, by the server's clock."""
        found = self._understood(lambda: self._api.custom_query(query))
        return list(self._series(found))

    def query_range(
        self, query: str, start: datetime, end: datetime, step: timedelta
    ) -> list[Series]:
        """Return what a query gives at ``start``, every step after it, up to ``end`` inclusive.

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

    def _query(self, url: str, params: Mapping[str, Any]) -> Any:
        try:
            found = self.get(url.removeprefix(self.settings.url), params, retry=_BUSY)
        except TooLargeError as error:
            raise TooMuchError(f"{error}: narrow labels down") from None
        if not isinstance(found, dict) or found.get("status") != "success":
            raise self._not_understood()
        warnings = found.get("warnings")
        for warning in warnings if isinstance(warnings, list) else ():
            if (text := short(str(warning))) not in self.warnings:
                self.warnings.append(text)
        return found

    def _understood(self, ask: Any) -> Any:
        """Ask through the library, which takes every answer for a whole one."""
        try:
            return ask()
        except (KeyError, TypeError):
            raise self._not_understood() from None

    def _series(self, found: Any) -> Iterator[Series]:
        """Understand the series of an answer; one that cannot be understood is left out."""
        if not isinstance(found, list) or (found and not any(isinstance(i, dict) for i in found)):
            raise self._not_understood()
        for item in objects(found, self.odd, "series"):
            labels = {name: text for name, text in item.fields("metric").items()}
            listed = dict(item.items())
            # Neither "value" nor "values": native histograms, which nothing here asks for.
            points = listed.get("values", [listed.get("value")])
            try:
                known = tuple(_point(point) for point in points)
            except (TypeError, ValueError):
                item.note("value")
                continue
            if not all(isinstance(text, str) for text in labels.values()):
                item.note("metric")
                continue
            yield Series(
                labels=labels, points=tuple(point for point in known if math.isfinite(point[1]))
            )

    def _not_understood(self) -> ProtocolError:
        return ProtocolError(
            f"{self.settings.url} answered something that is not Prometheus's: "
            "is this the right URL?"
        )


def _point(point: Any) -> tuple[float, float]:
    """Return time and value of a point.

    Raises:
        TypeError, ValueError: It is none.
    """
    at, value = point
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at <= _LATEST:
        raise ValueError("not a time")
    if not isinstance(value, str):
        raise TypeError("not a value")
    return float(at), float(value)


def selector(labels: Mapping[str, str], *matchers: str, name: str = "") -> str:
    """Return PromQL's selector of series with these labels."""
    equal = (f"{label}={quoted(value)}" for label, value in labels.items())
    return f"{name}{{{','.join((*equal, *matchers))}}}"


def quoted(text: str) -> str:
    """Return a text as PromQL writes it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
