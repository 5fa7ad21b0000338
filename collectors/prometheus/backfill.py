"""Bringing history from Prometheus into the lake: of brokers, of consumer lag, of partitions.

History is asked for at moments of a fixed grid, multiples of the step since 1970, and the rows of a
moment have a poll id that follows from it. A moment is skipped where the lake has samples of a
backfill within half a step, or other samples within two minutes. So a backfill may be interrupted,
or run twice, and adds nothing twice.
"""

from __future__ import annotations

import math
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import polars as pl

from collectors.errors import CollectorError, NoAnswerError, SettingsError
from collectors.prometheus import lag
from collectors.prometheus.client import PrometheusClient, Series, TooMuchError
from collectors.prometheus.queries import name_matchers, queries, scope_labels, values
from collectors.prometheus.source import row
from config.integrations import PrometheusSettings
from config.settings import Settings
from lake.schemas.model import Table
from lake.schemas.tables import BROKER_METRICS, COLLECTIONS, GROUP_OFFSETS, PARTITIONS
from lake.storage.store import Lake

SECTION = "backfill"

_SHORTEST_RATE = timedelta(minutes=5)
_MOMENTS = 240
"""Of a window: four hours at the default step, far below the 11,000 that Prometheus allows."""
_FEWEST_MOMENTS = 2
_REQUEST_SECONDS = 30.0
# An exporter's value is older than its moment, by a scrape interval or two: right after a live
# sample it could be older than that, and an offset would seem to go backwards.
_LIVE_REACH = timedelta(minutes=2)
_NAMESPACE = uuid.UUID("6a1d1f52-6a3c-5d0e-9a53-5d1f0f6f3c1b")


class BackfillError(CollectorError):
    """What was asked for cannot be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A time range on the grid."""

    first: datetime
    last: datetime
    step: timedelta

    @property
    def moments(self) -> int:
        """How many moments it has."""
        return round((self.last - self.first) / self.step) + 1

    def halves(self) -> tuple[Window, Window]:
        """Return its two halves."""
        middle = self.first + self.step * (self.moments // 2)
        return (
            Window(first=self.first, last=middle - self.step, step=self.step),
            Window(first=middle, last=self.last, step=self.step),
        )


@dataclass(slots=True, kw_only=True)
class Report:
    """What a backfill did.

    Attributes:
        skipped: Table: moments that were left alone, since the lake has samples of them.
        warnings: What Prometheus said beside its answers.
    """

    added: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)


def moment(option: str, text: str, now: datetime) -> datetime:
    """Return the moment that an option gives.

    Raises:
        BackfillError: It is no time, has no time zone, or is still to come.
    """
    example = f"write for example {now:%Y-%m-%dT%H:00Z}"
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        raise BackfillError(f"{option}: {text} is no time; {example}") from None
    if value.tzinfo is None:
        raise BackfillError(f"{option}: {text} has no time zone; {example} for UTC")
    if value > now:
        raise BackfillError(f"{option}: {text} is still to come; it is {now:%Y-%m-%dT%H:%M:%SZ}")
    return value.astimezone(UTC)


def duration(option: str, text: str) -> timedelta:
    """Return the duration that an option gives: 90, 90s, 5m, 1h.

    Raises:
        BackfillError: It is none, or not between a second and a day in whole seconds.
    """
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    if not (number.isdecimal() and number.isascii()) or not 1 <= int(number) * unit <= 86_400:
        raise BackfillError(f"{option}: {text} is no step; write for example 60s, 5m or 1h")
    return timedelta(seconds=int(number) * unit)


def windows(start: datetime, end: datetime, step: timedelta) -> Iterator[Window]:
    """Return the grid from ``start`` on and before ``end``, in windows."""
    seconds = step.total_seconds()
    first = math.ceil(start.timestamp() / seconds)
    last = math.ceil(end.timestamp() / seconds) - 1
    if last < first:
        raise BackfillError("--from must be before --to, by a step at least")
    for at in range(first, last + 1, _MOMENTS):
        yield Window(
            first=datetime.fromtimestamp(at * seconds, UTC),
            last=datetime.fromtimestamp(min(at + _MOMENTS - 1, last) * seconds, UTC),
            step=step,
        )


class Backfill:
    """Brings the history of one Prometheus into the lake. For one thread."""

    def __init__(self, server: PrometheusSettings, settings: Settings, lake: Lake) -> None:
        self._patience = max(server.request_timeout_seconds, _REQUEST_SECONDS)
        self._server = server.model_copy(update={"request_timeout_seconds": self._patience})
        self._cluster = settings.cluster(settings.cluster_of(server))
        self._lake = lake
        self._client = PrometheusClient(self._server)
        self._most_moments = _MOMENTS
        self.report = Report()

    def close(self) -> None:
        """Give up all connections."""
        self._client.close()

    def run(
        self, parts: Sequence[Window], on_progress: Callable[[int], None] = lambda _: None
    ) -> Report:
        """Fill window after window.

        Returns:
            What was done; also ``report`` while it runs and after it failed.

        Raises:
            CollectorError: Prometheus cannot be read. What was done until then stays.
            LakeError: The lake cannot be read or written.
        """
        for done, window in enumerate(parts, start=1):
            self._fill(window)
            on_progress(done)
        return self.report

    def _fill(self, window: Window) -> None:
        """Fill a window; where that is too much at once, its halves."""
        if window.moments > self._most_moments:
            for half in window.halves():
                self._fill(half)
            return
        started_at, start = datetime.now(UTC), time.monotonic()
        try:
            found = self._read(window)
        except (TooMuchError, NoAnswerError):
            if window.moments < 2 * _FEWEST_MOMENTS:
                raise
            # The windows that follow will be no smaller: they are halved without trying.
            self._most_moments = window.moments - window.moments // 2
            self._fill(window)
            return
        # Told first: were it cut short in between, the next run would find nothing to tell of.
        self._report(window, [rows for _, rows, _ in found], started_at, time.monotonic() - start)
        for table, rows, skipped in found:
            if skipped:
                self.report.skipped[table.name] += skipped
            if not rows.is_empty():
                self._lake.append(table, self._stamped(rows))
                self.report.added[table.name] += rows.height

    def _read(self, window: Window) -> list[tuple[Table, pl.DataFrame, int]]:
        """Return what Prometheus has of a window and the lake has not, by table.

        With it, how many moments the lake has samples of.
        """
        client, server = self._client, self._server

        def ask(query: str) -> list[Series]:
            client.begin_poll(self._patience)
            series = client.query_range(query, window.first, window.last, window.step)
            known = self.report.warnings
            reported = (*client.warnings, *client.odd.problems)
            known += [text for text in reported if text not in known]
            return series

        client.begin_poll(self._patience)
        names = client.names(name_matchers(server), window.first - _SHORTEST_RATE, window.last)
        labels = scope_labels(server)["exporter"]
        rate = f"{max(_SHORTEST_RATE, window.step).total_seconds():.0f}s"
        readers: list[tuple[Table, Callable[[], pl.DataFrame]]] = [
            (
                BROKER_METRICS,
                lambda: self._broker_metrics(
                    [series for query in queries(names, server, rate) for series in ask(query)]
                ),
            ),
            (GROUP_OFFSETS, lambda: self._chosen(lag.group_offsets(ask, names, labels))),
            (PARTITIONS, lambda: self._chosen(lag.partitions(ask, names, labels))),
        ]
        found = []
        for table, read in readers:
            missing = self._missing(table, window)
            rows = read() if missing else pl.DataFrame(schema={"at": pl.Int64()})
            kept = rows.filter(pl.col("at").is_in(missing))
            found.append((table, kept, window.moments - len(missing)))
        return found

    def _missing(self, table: Table, window: Window) -> list[int]:
        """Return the moments of a window near which the lake has no samples."""
        known = [pl.col("prometheus") == self._server.name, pl.col("value").is_not_null()]
        samples = self._lake.read(
            table,
            *(known if table is BROKER_METRICS else ()),
            since=window.first - max(window.step, _LIVE_REACH),
            until=window.last + max(window.step, _LIVE_REACH),
            cluster=self._cluster.name,
            columns=["observed_at", "poll_id"],
        ).unique()
        own: list[datetime] = []
        live: list[datetime] = []
        for at, poll_id in samples.iter_rows():
            is_own = poll_id == self._poll_id(round(at.timestamp()))
            (own if is_own else live).append(at)
        moments = pl.datetime_range(
            window.first, window.last, window.step, time_unit="us", eager=True
        )
        far = _far(moments, own, window.step / 2) & _far(
            moments, live, max(window.step / 2, _LIVE_REACH)
        )
        return moments.filter(far).dt.epoch("s").to_list()

    def _broker_metrics(self, series: Sequence[Series]) -> pl.DataFrame:
        rows = [
            {"at": round(value.at), **row(value, self._server.name, is_backfilled=True)}
            for value in values(series, self._server)
        ]
        names = ("prometheus", "metric", "broker", "labels", "value", "is_backfilled")
        schema = {name: BROKER_METRICS.polars_schema[name] for name in names}
        return pl.DataFrame(rows, schema={"at": pl.Int64(), **schema})

    def _chosen(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of the topics and groups that are watched."""
        for column, selection in (("topic", self._cluster.topics), ("group", self._cluster.groups)):
            if column in rows.columns:
                names = [name for name in rows[column].unique() if selection.selects(name)]
                rows = rows.filter(pl.col(column).is_in(names))
        return rows

    def _stamped(self, rows: pl.DataFrame) -> pl.DataFrame:
        ids = {at: self._poll_id(at) for at in rows["at"].unique()}
        return rows.with_columns(
            pl.lit(self._cluster.name).alias("cluster"),
            pl.from_epoch("at", "s")
            .dt.cast_time_unit("us")
            .dt.replace_time_zone("UTC")
            .alias("observed_at"),
            pl.col("at").replace_strict(ids, return_dtype=pl.String()).alias("poll_id"),
        ).drop("at")

    def _poll_id(self, at: int) -> str:
        return uuid.uuid5(_NAMESPACE, f"{self._cluster.name}/{self._server.name}/{at}").hex

    def _report(
        self,
        window: Window,
        tables: Sequence[pl.DataFrame],
        started_at: datetime,
        seconds: float,
    ) -> None:
        """Write rows of ``collections``: history has to know how far its samples are apart."""
        counts = pl.concat(rows.select("at") for rows in tables).group_by("at").len("rows")
        if counts.is_empty():
            return
        source = f"prometheus/{self._server.name}"
        reported = self._lake.read(
            COLLECTIONS,
            pl.col("source") == source,
            pl.col("section") == SECTION,
            since=window.first,
            until=window.last + window.step,
            cluster=self._cluster.name,
            columns=["poll_id"],
        )
        new = self._stamped(counts.sort("at")).join(reported, on="poll_id", how="anti")
        self._lake.append(
            COLLECTIONS,
            new.with_columns(
                pl.col("rows").cast(pl.Int64()),
                pl.lit(source).alias("source"),
                pl.lit(SECTION).alias("section"),
                pl.lit(started_at).alias("started_at"),
                pl.lit(seconds / max(1, new.height)).alias("duration_seconds"),
                pl.lit(window.step.total_seconds()).alias("interval_seconds"),
                pl.lit("ok").alias("status"),
            ),
        )


def _far(moments: pl.Series, samples: Sequence[datetime], reach: timedelta) -> pl.Series:
    """Return for each moment whether no sample is nearer than ``reach``."""
    type_ = pl.Datetime("us", "UTC")
    near = pl.DataFrame({"moment": moments}).join_asof(
        pl.DataFrame({"sample": pl.Series(samples, dtype=type_).sort()}),
        left_on="moment",
        right_on="sample",
        strategy="nearest",
    )
    distance = (near["moment"] - near["sample"]).abs()
    return distance.is_null() | (distance >= reach)


def chosen(settings: Settings, name: str | None) -> list[PrometheusSettings]:
    """Return the servers to ask: all, or the one of that name."""
    found = [server for server in settings.prometheus if name in (None, server.name)]
    if not found:
        names = ", ".join(server.name for server in settings.prometheus)
        raise SettingsError(
            f"--source: there is no Prometheus {name}; those configured: {names}"
            if names
            else "no Prometheus is configured: name one under prometheus"
        )
    return found
