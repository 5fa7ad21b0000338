"""``python -m collectors``: the polling service, one poll, a check of what can be read."""

from __future__ import annotations

import json
import logging
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from collectors.errors import SettingsError
from collectors.report import PollReport, exit_code, print_checks, print_report
from collectors.service import Service
from collectors.source import Source
from collectors.sources import make_sources
from config.errors import ConfigError
from config.load import load
from config.settings import Settings
from lake.store import Lake

BAD_CONFIGURATION = 2

app = typer.Typer(
    help="Reads clusters: offsets, lag, replication, dead letters. Reads only.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

ConfigOption = Annotated[Path, typer.Option("--config", help="The configuration file.")]
ClusterOption = Annotated[str | None, typer.Option("--cluster", help="Only this cluster.")]


@app.command()
def run(config: ConfigOption) -> None:
    """Poll every cluster at its cadence and append the samples to the lake, until stopped."""
    settings = _settings(config)
    logging.basicConfig(
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
        level=logging.INFO,
        stream=sys.stderr,
    )
    logging.getLogger("kafka").setLevel(logging.ERROR)
    service = Service(
        _sources(settings), Lake(settings.lake), settings.collectors.compact_every_polls
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: service.stop())
    service.run()


@app.command()
def once(
    config: ConfigOption,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    cluster: ClusterOption = None,
) -> None:
    """Poll once and print what was read; nothing is written to the lake.

    Exit status: 0 everything was read, 3 some of it, 1 nothing, 2 the configuration is wrong.
    """
    sources = _sources(_settings(config), cluster)
    with _status("Reading"), ThreadPoolExecutor(len(sources)) as workers:
        reports = list(workers.map(_poll, sources))
    if as_json:
        clusters = {report.cluster: report.as_object() for report in reports}
        print(json.dumps({"cluster": clusters}, default=_json, indent=2))
    else:
        for report in reports:
            print_report(Console(), report)
    raise typer.Exit(exit_code(reports))


@app.command()
def check(config: ConfigOption, cluster: ClusterOption = None) -> None:
    """Try each feature on each cluster; say what is missing, the ACL by name.

    Exit status: 0 all that is required works, 1 it does not, 2 the configuration is wrong.
    """
    sources = _sources(_settings(config), cluster)
    with _status("Checking"), ThreadPoolExecutor(len(sources)) as workers:
        found = list(workers.map(lambda source: source.check(), sources))
    checks = [
        (source.cluster, item)
        for source, items in zip(sources, found, strict=True)
        for item in items
    ]
    print_checks(Console(), checks)
    for source in sources:
        source.close()
    raise typer.Exit(1 if any(c.required and c.works is False for _, c in checks) else 0)


def _poll(source: Source) -> PollReport:
    report = PollReport(source.cluster)
    report.results.extend(source.poll(datetime.now(UTC)))
    report.cluster_id, report.controller = source.cluster_id, source.controller
    source.close()
    return report


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
    print(message, file=sys.stderr)
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


if __name__ == "__main__":
    app()
