"""Commands: the polling service, one poll, a check of what can be read."""

from __future__ import annotations

import json
import logging
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar

import typer
from rich.console import Console

from collectors.errors import CollectorError, SettingsError
from collectors.exporter.exporter import make_exporter
from collectors.exporter.server import ServeError
from collectors.prometheus.command import backfill_command
from collectors.registry import make_sources
from collectors.report.document import (
    KAFKA,
    PollReport,
    SourceCheck,
    as_object,
    checks_as_object,
    exit_code,
    in_order,
)
from collectors.report.tables import print_checks, print_report
from collectors.service.maintenance import maintaining
from collectors.service.maintenance import once as maintain_once
from collectors.service.polling import Service
from collectors.service.snapshot import POLL, Snapshots
from collectors.settings_file import SettingsFile
from collectors.source.model import Check, SectionResult, Source
from config.errors import ConfigError
from config.load import load
from config.logs import log_to_stderr
from config.secret import hide
from config.settings import Settings
from lake.errors import LakeError
from lake.storage.current_store import read_statuses
from lake.storage.store import Lake
from runtime import heartbeat

BAD_CONFIGURATION = 2

T = TypeVar("T")

app = typer.Typer(
    help="Reads Kafka clusters and the systems around them. Reads only.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

ConfigOption = Annotated[Path, typer.Option("--config", help="The configuration file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
ClusterOption = Annotated[str | None, typer.Option("--cluster", help="Only this cluster.")]


@app.command()
def run(config: ConfigOption) -> None:
    """Poll every source at its cadence and append the samples to the lake, until stopped.

    Of several processes on one lake, one polls each cluster and the others wait for it. The
    configuration is read again when its file changes, or at a SIGHUP.

    Serves /metrics, /healthz and /readyz where collectors.exporter.port is set.
    """
    settings = _settings(config)
    log_to_stderr()
    heartbeat.start()
    logging.getLogger("kafka").setLevel(logging.ERROR)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    exporter = settings.collectors.exporter
    snapshots = None if exporter.port is None else Snapshots()
    file = SettingsFile(config, settings)

    def look() -> None:
        if file.look(service.apply):
            service.report(file.problem)

    try:
        service = Service(file.plan(), Lake(settings.lake), snapshots, look)
    except SettingsError as error:
        _end(str(error))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: service.stop())
    signal.signal(signal.SIGHUP, lambda *_: file.read_again())
    try:
        serving = (
            nullcontext()
            if exporter.port is None or snapshots is None
            else make_exporter(
                exporter, exporter.port, snapshots, service, lambda: file.problem, settings.lake
            )
        )
    except ServeError as error:
        _end(str(error))
    with serving, maintaining(config):
        service.run()


@app.command()
def maintain(config: ConfigOption) -> None:
    """Compact and expire what collectors have written, and exit; ``run`` does it by itself.

    Of several at once on one lake, one does it and the others skip it.
    """
    settings = _settings(config)
    try:
        with _status("Maintaining"):
            done = maintain_once(settings.lake)
    except LakeError as error:
        _end(str(error))
    print(f"maintenance: {done}", file=sys.stderr)


@app.command()
def once(config: ConfigOption, as_json: JsonOption = False, cluster: ClusterOption = None) -> None:
    """Poll once and print what was read; nothing is written to the lake.

    Exit status: 0 everything was read, 3 some of it, 1 nothing, 2 the configuration is wrong.
    """
    settings = _settings(config)
    sources = _sources(settings, cluster)
    with _status("Reading"):
        # Kafka's clusters last: what Connect says belongs to their dead letters.
        reports = [
            *_each([source for source in sources if source.name != KAFKA], _poll),
            *_each([source for source in sources if source.name == KAFKA], _poll),
        ]
    _close(sources)
    if as_json:
        clusters = [one.name for one in settings.clusters]
        statuses = read_statuses(Lake(settings.lake).current, clusters, datetime.now(UTC))
        print(json.dumps(as_object(reports, statuses), default=_json, indent=2))
    else:
        for report in in_order(reports):
            print_report(Console(), report)
    raise typer.Exit(exit_code(reports))


@app.command()
def check(config: ConfigOption, as_json: JsonOption = False, cluster: ClusterOption = None) -> None:
    """Try each feature of each source; say what is missing, the right by name.

    Exit status: 0 all that is required works, 1 it does not, 2 the configuration is wrong.
    """
    sources = _sources(_settings(config), cluster)
    with _status("Checking"):
        found = _each(sources, _check)
    _close(sources)
    checks = in_order([item for items in found for item in items])
    if as_json:
        print(json.dumps(checks_as_object(checks), indent=2))
    else:
        print_checks(Console(), checks)
    failed = any(item.check.required and item.check.works is False for item in checks)
    raise typer.Exit(1 if failed else 0)


def _each(sources: Sequence[Source], ask: Callable[[Source], T]) -> list[T]:
    """Ask sources at the same time."""
    with ThreadPoolExecutor(max(1, len(sources))) as workers:
        return list(workers.map(ask, sources))


@app.command()
def backfill(
    config: ConfigOption,
    first: Annotated[str, typer.Option("--from", help="First moment: 2026-01-05T10:00Z.")],
    last: Annotated[str, typer.Option("--to", help="Last moment, exclusive.")],
    step: Annotated[str, typer.Option("--step", help="Between samples: 60s, 5m, 1h.")] = "60s",
    source: Annotated[str | None, typer.Option("--source", help="Only this Prometheus.")] = None,
) -> None:
    """Bring history of brokers and consumer lag from Prometheus into the lake, nothing twice.

    Exit status: 0 done, 1 it failed on the way (run it again), 2 it cannot be done like that.
    """
    settings = _settings(config)
    raise typer.Exit(backfill_command(settings, first, last, step, source))


def _poll(source: Source) -> PollReport:
    report = PollReport(cluster=source.cluster, source=source.name)
    now = datetime.now(UTC)
    try:
        report.results.extend(source.poll(now))
    except Exception as error:  # a fault of ours in one source must not take the others' rows
        failure = hide(f"{type(error).__name__}: {error}")
        report.results.append(SectionResult.without_rows(POLL, now, "failed", failure))
    report.cluster_id, report.controller = source.cluster_id, source.controller
    return report


def _check(source: Source) -> list[SourceCheck]:
    checks: Sequence[Check]
    try:
        checks = source.check()
    except CollectorError as error:
        checks = [Check(feature="connection", works=False, required=True, detail=str(error))]
    except Exception as error:  # a fault of ours in one source must not hide the others
        checks = [
            Check(
                feature="check",
                works=False,
                required=True,
                detail=f"{type(error).__name__}: {error}",
            )
        ]
    hidden = [replace(item, detail=hide(item.detail)) for item in checks]
    return [SourceCheck(cluster=source.cluster, source=source.name, check=item) for item in hidden]


def _close(sources: Sequence[Source]) -> None:
    for source in sources:
        source.close()


def _settings(path: Path) -> Settings:
    try:
        return load(path)
    except ConfigError as error:
        _end(str(error))


def _sources(settings: Settings, only: str | None = None) -> list[Source]:
    try:
        return make_sources(settings, only)
    except SettingsError as error:
        _end(str(error))
    except KeyError:
        names = ", ".join(cluster.name for cluster in settings.clusters)
        _end(f"--cluster: there is no cluster {only}; those configured: {names}")


def _end(message: str) -> NoReturn:
    print(hide(message), file=sys.stderr)
    raise typer.Exit(BAD_CONFIGURATION)


@contextmanager
def _status(text: str) -> Iterator[None]:
    # To stderr, since stdout may be JSON for a program; only where a person watches.
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(text):
            yield
    else:
        yield


def _json(value: object) -> str:
    if isinstance(value, datetime | date):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
