"""How soon pages stand in a real browser, what refreshes cost, and what many viewers cost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory

from playwright.sync_api import Page

from bench.support.addresses import OF_THE_DEMO, PAGES, path_of
from bench.support.chromium import chromium, viewer
from bench.support.figures import Figure
from bench.support.live_lake import live_lake
from bench.support.played_viewers import play, visits
from bench.support.process_usage import usage_of_tree
from bench.support.wire import Run, Wire, wire
from runtime.processes import free_ports, wait_until
from runtime.services import ROOT, dashboard_answers

GROUPS = 10_000
VIEWERS = 50
_REFRESH_SECONDS = 15
_VISITS = 3
_WATCHED_SECONDS = 120.0
_OF_THE_LAKE = {"group": "team-0.service-7", "topic": "events.domain-7.v1"}


def measure(
    groups: int,
    on_progress: Callable[[str], None],
    *,
    incident: bool = False,
    alerting: bool = True,
) -> list[Figure]:
    """Open each page of a large lake that goes on, in Chromium, and then let many look at it.

    Args:
        groups: How many groups of 15 partitions the largest of three clusters has.
        on_progress: Is given what is done next.
        incident: Every fifth group lost its consumers some minutes ago, and has an alert.
        alerting: Whether the alerting service evaluates; else the dashboard does.
    """
    name = f"{groups:,} groups" + (" in an incident" if incident else "")
    name += "" if alerting else ", without alerting"
    large = groups == GROUPS
    with (
        TemporaryDirectory(prefix="headroom-bench-pages-") as folder,
        live_lake(
            Path(folder),
            groups,
            on_progress,
            incident=incident,
            alerting=alerting,
            refresh_seconds=_REFRESH_SECONDS,
        ) as (config, alerts),
    ):
        (port,) = free_ports(1)
        with _dashboard(config, port) as server:
            base = f"http://localhost:{port}"
            found = _each_page(base, _OF_THE_LAKE, on_progress)
            alone = usage_of_tree(server)[1]
            paths = [path_of(page, _OF_THE_LAKE) for page in PAGES]
            on_progress("pages that nobody draws")
            undrawn = visits(base, paths, times=_VISITS)
            on_progress(f"{VIEWERS} viewers for {_WATCHED_SECONDS:.0f} s")
            met = play(
                base,
                paths,
                viewers=VIEWERS,
                seconds=_WATCHED_SECONDS,
                server=server,
            )
    for failure in sorted({*met.failures, *undrawn.failures}):
        print(f"failed: {failure}", file=sys.stderr)
    return [
        Figure(name=f"{name}: alerts", value=alerts, unit="alerts"),
        *_of_pages(name, found, most_seconds=2.5 if large else None),
        Figure(
            name=f"{name}: server time warm where nobody draws, 95th percentile",
            value=quantiles(undrawn.runs, n=20, method="inclusive")[-1],
            unit="s",
        ),
        Figure(name=f"{name}: the same, median", value=median(undrawn.runs), unit="s"),
        Figure(name=f"{name}: memory after one viewer saw all pages", value=alone, unit="bytes"),
        Figure(
            name=f"{VIEWERS} viewers, {name}: memory at the most",
            value=met.most_bytes,
            unit="bytes",
            most=1.5e9,
        ),
        Figure(name=f"{VIEWERS} viewers: processor", value=met.cores, unit="cores", most=1.0),
        Figure(name=f"{VIEWERS} viewers: runs", value=len(met.runs), unit="runs"),
        Figure(
            name=f"{VIEWERS} viewers: failed runs", value=len(met.failures), unit="runs", most=0
        ),
        Figure(name=f"{VIEWERS} viewers: a run, median", value=median(met.runs), unit="s"),
    ]


def measure_running(base: str, server: int, on_progress: Callable[[str], None]) -> list[Figure]:
    """Open each page of a dashboard on a demo, and look at its Overview for a while.

    Args:
        base: Its address.
        server: Its process.
        on_progress: Is given what is done next.
    """
    found = _each_page(base, OF_THE_DEMO, on_progress)
    on_progress(f"one viewer of Overview for {_WATCHED_SECONDS:.0f} s")
    with chromium() as browser, viewer(browser, base) as one:
        one.open("/")
        before = usage_of_tree(server)[0]
        one.page.wait_for_timeout(_WATCHED_SECONDS * 1000)
        used = usage_of_tree(server)[0] - before
    return [
        *_of_pages("demo", found, most_seconds=1.5),
        Figure(
            name="one viewer of the demo",
            value=used / _WATCHED_SECONDS * 100,
            unit="% of a core",
            most=4.0,
        ),
    ]


class _Seen:
    """What was measured of one page, or of several."""

    def __init__(self) -> None:
        self.cold: list[Run] = []
        self.warm: list[Run] = []
        self.refreshed: list[Run] = []
        self.settled: list[float] = []  # of warm visits


def _each_page(
    base: str, names: Mapping[str, str], on_progress: Callable[[str], None]
) -> tuple[int, dict[str, _Seen]]:
    """Open each page some times; return the bytes of the first visit, and what was seen."""
    found: dict[str, _Seen] = {}
    with wire(base) as between, chromium() as browser, viewer(browser, between.base) as one:
        for page in PAGES:
            on_progress(f"page {page}")
            seen = found[page] = _Seen()
            one.open(path_of(page, names))
            seen.cold.append(between.runs[-1])
            if page == PAGES[0]:
                first = between.received_bytes
            for _ in range(_VISITS):
                seen.settled.append(one.open(path_of(page, names)))
                seen.warm.append(between.runs[-1])
            seen.refreshed += _refreshes(between, one.page)
    return first, found


def _refreshes(between: Wire, page: Page) -> list[Run]:
    """Wait until the page was drawn again twice; return these runs."""
    before = len(between.runs)
    while len(between.runs) < before + 2:
        page.wait_for_timeout(100)
    return between.runs[before:]


def _of_pages(
    name: str, found: tuple[int, dict[str, _Seen]], *, most_seconds: float | None
) -> list[Figure]:
    first, pages = found
    cold, warm, refreshed = (
        [run for seen in pages.values() for run in getattr(seen, kind)]
        for kind in ("cold", "warm", "refreshed")
    )
    goals = most_seconds is not None
    rows = [
        ("first visit over the wire", float(first), "bytes", 3.5e6),
        ("server time cold, 95th percentile", _p95(cold), "s", 2.0),
        ("server time warm, 95th percentile", _p95(warm), "s", 0.5),
        (
            "navigation to settled, median of the slowest page",
            max(median(seen.settled) for seen in pages.values()),
            "s",
            most_seconds,
        ),
        ("live refresh, server time, median", median(run.seconds for run in refreshed), "s", 0.15),
        (
            "live refresh, bytes, median",
            median(run.received_bytes for run in refreshed),
            "bytes",
            1e5,
        ),
    ]
    figures = [
        Figure(name=f"{name}: {what}", value=value, unit=unit, most=most if goals else None)
        for what, value, unit, most in rows
    ]
    for page, seen in pages.items():
        each = {
            "cold": (seen.cold[0].seconds, "s"),
            "warm": (median(run.seconds for run in seen.warm), "s"),
            "settled": (median(seen.settled), "s"),
            "refreshed": (median(run.seconds for run in seen.refreshed), "s"),
            "refreshed,": (median(run.received_bytes for run in seen.refreshed), "bytes"),
        }
        figures += [
            Figure(name=f"{name}: {page} {what}", value=value, unit=unit)
            for what, (value, unit) in each.items()
        ]
    return figures


def _p95(runs: list[Run]) -> float:
    return quantiles([run.seconds for run in runs], n=20, method="inclusive")[-1]


@contextmanager
def _dashboard(config: Path, port: int) -> Iterator[int]:
    """Run ``python -m app``; yield its process."""
    process = subprocess.Popen(  # noqa: S603 (this very Python, and our own module)
        [sys.executable, "-m", "app", "--config", str(config), "--port", str(port)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(
            lambda: dashboard_answers(port),
            timeout_seconds=120.0,
            waiting_for="answer of the dashboard",
        )
        yield process.pid
    finally:
        process.terminate()
        process.wait()
