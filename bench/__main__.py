"""``python -m bench``: the benchmarks, one by one or all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.cases import (
    advice,
    broker_faults,
    clients,
    collect,
    commits,
    demo,
    evaluation,
    faults,
    forecasts,
    history,
    minutes,
    pages,
    pictures,
    restart,
    topics,
)
from bench.support import figures
from bench.support.addresses import OF_THE_DEMO
from bench.support.chromium import NoChromiumError
from bench.support.ending import end_on_sigterm
from bench.support.figures import Figure
from config.settings import LakeSettings
from lake.errors import LakeError
from lake.storage.store import Lake
from simulation.traces import TraceError

_SMALL, _LARGE = 1_000, 10_000
_TOPICS = 100_000
_ROUND_TRIP_MS = 100.0

_FAILURES = (
    NoChromiumError,
    demo.DemoFailedError,
    restart.RestartFailedError,
    broker_faults.BrokerFaultsError,
    minutes.NothingToCompareError,
    LakeError,
    TraceError,
)

Measure = Callable[[Callable[[str], None]], list[Figure]]
"""Measures, and tells meanwhile what it is doing."""

app = typer.Typer(
    help="Measures Headroom on this machine, against real brokers that it starts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON list.")]
PollsOption = Annotated[int, typer.Option(min=1, help="How many polls.")]
GroupsOption = Annotated[int, typer.Option(min=10, help="How many groups of 15 partitions.")]


@app.callback()
def begin() -> None:
    """Begin any of them."""
    end_on_sigterm()


@app.command()
def poll(
    groups: GroupsOption = _SMALL,
    polls: PollsOption = 20,
    round_trip_ms: Annotated[
        float | None, typer.Option(min=0, help="How far away; over TLS and SCRAM then.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Time whole polls, from the first request to the rows in the lake; 3 GB of memory needed."""
    _show(as_json, partial(collect.measure, groups, polls, round_trip_ms))


@app.command("topics")
def of_many_topics(
    count: Annotated[
        int, typer.Option("--topics", min=500, help="How many topics of 3 partitions.")
    ] = _TOPICS,
    polls: PollsOption = 5,
    as_json: JsonOption = False,
) -> None:
    """Time whole polls of very many topics, whose brokers are played; 2 GB of memory needed."""
    _show(as_json, partial(topics.measure, count, polls))


@app.command("clients")
def of_both_clients(
    count: Annotated[
        int, typer.Option("--topics", min=10, help="How many topics of 15 partitions.")
    ] = 700,
    rounds: Annotated[int, typer.Option(min=1, help="How often each is read.")] = 5,
    as_json: JsonOption = False,
) -> None:
    """Time librdkafka's public calls beside the collectors' own requests."""
    _show(as_json, partial(clients.measure, count, rounds))


@app.command("restart")
def of_collectors(groups: GroupsOption = _LARGE, as_json: JsonOption = False) -> None:
    """Time the collectors from their start to their first poll of a large cluster; a minute."""
    _show(as_json, partial(restart.measure, groups))


@app.command("commits")
def commit_log(as_json: JsonOption = False) -> None:
    """Time the reading of a million commits from the coordinators' log; 1 GB of memory needed."""
    _show(as_json, commits.measure)


@app.command("evaluation")
def evaluation_of_clusters(
    groups: GroupsOption = _LARGE, polls: PollsOption = 10, as_json: JsonOption = False
) -> None:
    """Time whole evaluations, lake to written tables, of 15 groups and of many; 4 GB of memory."""
    _show(as_json, partial(evaluation.measure, groups, polls))


@app.command("advice")
def advice_on_all(groups: GroupsOption = _LARGE, as_json: JsonOption = False) -> None:
    """Time the advice job in Spark on all groups, lake to table; ten minutes, 4 GB of memory."""
    _show(as_json, partial(advice.measure, groups))


@app.command("pages")
def pages_in_a_browser(
    groups: GroupsOption = _LARGE,
    incident: Annotated[bool, typer.Option(help="A fifth of the groups lost consumers.")] = False,
    alerting: Annotated[bool, typer.Option(help="Whether the alerting service runs.")] = True,
    url: Annotated[
        str | None, typer.Option(help="Instead, a dashboard that runs on a demo.")
    ] = None,
    server: Annotated[int, typer.Option(help="Its process, as `demo status` names it.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Time pages in Chromium, and 50 viewers, on a large lake; a quarter of an hour, 5 GB."""
    if url is not None:
        _show(as_json, partial(pages.measure_running, url, server))
        return
    _show(as_json, partial(pages.measure, groups, incident=incident, alerting=alerting))


@app.command("faults")
def faults_of_the_demo(
    data: Annotated[Path, typer.Argument(help="The folder of a demo that runs.")],
    url: Annotated[str, typer.Argument(help="The address of its dashboard.")],
    to: Annotated[Path | None, typer.Option("--pictures", help="Pictures of each step.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Break a demo and mend it; seconds until lake, Overview and Alerts tell; three minutes."""
    _show(as_json, partial(faults.measure, data, url, to))


@app.command("broker-faults")
def faults_of_a_broker(as_json: JsonOption = False) -> None:
    """Kill, freeze, throttle and slow down one of three brokers between polls; three minutes."""
    _show(as_json, broker_faults.measure)


@app.command("pictures")
def pictures_of_pages(
    url: Annotated[str, typer.Argument(help="A dashboard, such as that of a demo.")],
    to: Annotated[Path, typer.Option(help="The folder of the pictures.")] = Path("docs/images"),
    group: Annotated[str, typer.Option(help="Of the group's page.")] = OF_THE_DEMO["group"],
    topic: Annotated[str, typer.Option(help="Of the topic's page.")] = OF_THE_DEMO["topic"],
) -> None:
    """Take pictures of every page, light and dark, and of a phone; two minutes."""
    with Console(stderr=True).status("Starting") as status:
        files = pictures.draw(url, to, {"group": group, "topic": topic}, status.update)
    print(f"{len(files)} pictures, {sum(file.stat().st_size for file in files) / 1000:.0f} kB")


@app.command("demo")
def services_of_the_demo(
    warm: Annotated[float, typer.Option(min=0, help="Seconds before the measurement.")] = 300,
    seconds: Annotated[float, typer.Option(min=10, help="Seconds of the measurement.")] = 600,
    as_json: JsonOption = False,
) -> None:
    """Measure what all four services cost on the demo; a quarter of an hour, 5 GB of memory."""
    _show(as_json, partial(demo.measure, warm, seconds))


@app.command("forecasts")
def forecast_quality(
    traces: Annotated[
        Path | None, typer.Option(help="A folder with recorded series, timestamp and value (CSV).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare forecasts with what came, on recorded and generated series; about a minute."""
    _show(as_json, partial(forecasts.measure, traces))


@app.command("history")
def of_history(
    groups: GroupsOption = _LARGE,
    polls: Annotated[int, typer.Option(min=8, help="Polls of 15 s in the batch.")] = 24,
    as_json: JsonOption = False,
) -> None:
    """Time history beside DuckDB, keeping up, bytes and a page's query; 4 GB of memory needed."""
    _show(as_json, partial(history.measure, groups, polls))


@app.command("minutes")
def of_minutes(
    lake: Annotated[str, typer.Argument(help="The lake's folder, such as .demo/lake.")],
    as_json: JsonOption = False,
) -> None:
    """Look for minutes that the history of a lake lacks or has twice; some seconds."""
    _show(as_json, partial(minutes.measure, Lake(LakeSettings(uri=lake))))


@app.command("all")
def everything(as_json: JsonOption = False) -> None:
    """Run every benchmark; about three quarters of an hour."""
    _show(
        as_json,
        partial(collect.measure, _SMALL, 30, None),
        partial(collect.measure, _SMALL, 30, _ROUND_TRIP_MS),
        partial(collect.measure, _LARGE, 100, None),
        partial(topics.measure, _TOPICS, 5),
        partial(restart.measure, _LARGE),
        broker_faults.measure,
        partial(evaluation.measure, _LARGE, 10),
        partial(advice.measure, _LARGE),
        partial(pages.measure, _LARGE),
        partial(demo.measure, 300, 600),
        commits.measure,
        partial(forecasts.measure, None),
        partial(history.measure, _LARGE, 24),
    )


def _show(as_json: bool, *measures: Measure) -> None:
    """Measure one thing after the other and print all figures together."""
    found: list[Figure] = []
    try:
        with Console(stderr=True).status("Starting") as status:
            for measure in measures:
                found += measure(status.update)
    except _FAILURES as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    if as_json:
        print(figures.as_json(found))
    else:
        figures.print_figures(Console(), found)


if __name__ == "__main__":
    app()
