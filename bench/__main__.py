"""``python -m bench``: the benchmarks, one by one or all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.cases import (
    advice,
    collect,
    commits,
    demo,
    evaluation,
    forecasts,
    history,
    maintenance,
    pages,
    scaling,
    status,
    workers,
)
from bench.support import figures
from bench.support.figures import Figure
from bench.support.kafka_groups import broker_with_groups
from simulation.traces import TraceError, read_traces
from spark_metrics.derived.series import Floats

_SMALL, _LARGE = 1_000, 10_000
_SMALL_SECONDS, _LARGE_SECONDS = 0.35, 3.0
_STATUS_SECONDS = 1.0  # of one core, for 150,000 group partitions

app = typer.Typer(
    help="Measures Headroom on this machine, against real brokers that it starts.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON list.")]
PollsOption = Annotated[int, typer.Option(min=1, help="How many polls.")]


@app.command()
def poll(
    groups: Annotated[int, typer.Option(min=1, help="How many groups of 15 partitions.")] = _SMALL,
    polls: PollsOption = 20,
    as_json: JsonOption = False,
) -> None:
    """Time whole polls, from the first request to the rows in the lake; 3 GB of memory needed."""
    _show(_poll(groups, polls), as_json)


@app.command("commits")
def commit_log(as_json: JsonOption = False) -> None:
    """Time the reading of a million commits from the coordinators' log; 1 GB of memory needed."""
    _show(_commits(), as_json)


@app.command("status")
def group_status(
    groups: Annotated[int, typer.Option(min=1, help="How many groups of 15 partitions.")] = _LARGE,
    polls: PollsOption = 10,
    as_json: JsonOption = False,
) -> None:
    """Time the classification of every group at a poll; no broker is needed."""
    _show(_status(groups, polls), as_json)


@app.command("evaluation")
def evaluation_of_clusters(
    groups: Annotated[int, typer.Option(min=1, help="How many groups of 15 partitions.")] = _LARGE,
    polls: PollsOption = 10,
    as_json: JsonOption = False,
) -> None:
    """Time whole evaluations, lake to written tables, of 15 groups and of many; 4 GB of memory."""
    _show(_evaluation(groups, polls), as_json)


@app.command("scaling")
def group_sizing(
    groups: Annotated[int, typer.Option(min=1, help="How many groups of 15 partitions.")] = _LARGE,
    as_json: JsonOption = False,
) -> None:
    """Time the sizing of groups: capacity, demand and number of consumers; no broker is needed."""
    _show(_scaling(groups), as_json)


@app.command("advice")
def advice_on_all(
    groups: Annotated[int, typer.Option(min=1, help="How many groups of 15 partitions.")] = _LARGE,
    as_json: JsonOption = False,
) -> None:
    """Time the advice job in Spark on all groups, lake to table; ten minutes, 4 GB of memory."""
    _show(_advice(groups), as_json)


@app.command("pages")
def server_time_of_pages(
    groups: Annotated[int, typer.Option(min=10, help="How many groups of 15 partitions.")] = _LARGE,
    as_json: JsonOption = False,
) -> None:
    """Time the server's work for each page on a large cluster; some minutes, 4 GB of memory."""
    _show(_pages(groups), as_json)


@app.command("demo")
def services_of_the_demo(
    warm: Annotated[float, typer.Option(min=0, help="Seconds before the measurement.")] = 300,
    seconds: Annotated[float, typer.Option(min=10, help="Seconds of the measurement.")] = 600,
    as_json: JsonOption = False,
) -> None:
    """Measure what all four services cost on the demo; a quarter of an hour, 5 GB of memory."""
    _show(_demo(warm, seconds), as_json)


@app.command("forecasts")
def forecast_quality(
    traces: Annotated[
        Path | None, typer.Option(help="A folder with recorded series, timestamp and value (CSV).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare forecasts with what came, on recorded and generated series; a minute."""
    _show(_forecasts(traces), as_json)


@app.command("maintenance")
def maintenance_of_a_month(
    days: Annotated[int, typer.Option(min=1, help="Days of simulated time.")] = 30,
    polls: Annotated[int, typer.Option(min=1, help="Polls a half hour; 120: every 15 s.")] = 12,
    as_json: JsonOption = False,
) -> None:
    """Count files and log entries over a month of polls with maintenance between; some minutes."""
    _show(_maintenance(days, polls), as_json)


@app.command("workers")
def two_workers(
    rows: Annotated[int, typer.Option(min=1, help="Samples.")] = 6_000_000,
    groups: Annotated[int, typer.Option(min=1, help="How many groups of 15 partitions.")] = _LARGE,
    as_json: JsonOption = False,
) -> None:
    """Compare two workers of a Spark cluster with one; 4 GB of memory needed."""
    _show(_workers(rows, groups), as_json)


@app.command("history")
def of_history(
    groups: Annotated[int, typer.Option(min=10, help="How many groups of 15 partitions.")] = _LARGE,
    polls: Annotated[int, typer.Option(min=8, help="Polls of 15 s in the batch.")] = 24,
    as_json: JsonOption = False,
) -> None:
    """Time history beside DuckDB, keeping up, bytes and a page's query; 4 GB of memory needed."""
    _show(_history(groups, polls), as_json)


@app.command("all")
def everything(as_json: JsonOption = False) -> None:
    """Run every benchmark; about three quarters of an hour."""
    _show(
        [
            *_poll(_SMALL, 30),
            *_poll(_LARGE, 100),
            *_status(_LARGE, 10),
            *_evaluation(_LARGE, 10),
            *_scaling(_LARGE),
            *_advice(_LARGE),
            *_pages(_LARGE),
            *_demo(300, 600),
            *_commits(),
            *_forecasts(None),
            *_history(_LARGE, 24),
            *_maintenance(30, 3),
            *_workers(6_000_000, _LARGE),
        ],
        as_json,
    )


def _forecasts(traces: Path | None) -> list[Figure]:
    series: dict[str, Floats] = {}
    if traces is not None:
        try:
            recorded, problems = read_traces(traces)
        except TraceError as error:
            print(f"error: {error}", file=sys.stderr)
            raise typer.Exit(1) from None
        for problem in problems:
            print(problem, file=sys.stderr)
        series |= {trace.name: forecasts.hours(trace) for trace in recorded}
    series |= forecasts.generated()
    found: list[Figure] = []
    with Console(stderr=True).status("forecasting") as status:
        for name, measured in forecasts.measure(series, forecasts.of_demo()):
            status.update(f"forecast: {name}")
            if isinstance(measured, str):
                print(f"{name}: {measured}", file=sys.stderr)
            else:
                found.extend(measured)
    return found


def _maintenance(days: int, polls: int) -> list[Figure]:
    with Console(stderr=True).status("Appending") as status:
        return maintenance.measure(days, polls, status.update)


def _status(groups: int, polls: int) -> list[Figure]:
    with Console(stderr=True).status(f"Classifying {groups:,} groups, poll after poll"):
        return status.measure(groups, polls, _STATUS_SECONDS if groups == _LARGE else None)


def _evaluation(groups: int, polls: int) -> list[Figure]:
    with Console(stderr=True).status("Evaluating") as status:
        return evaluation.measure(groups, polls, status.update)


def _scaling(groups: int) -> list[Figure]:
    with Console(stderr=True).status("Sizing groups") as status:
        return scaling.measure(
            groups, _LARGE, lambda done: status.update(f"{done:,} of {groups:,} groups sized")
        )


def _pages(groups: int) -> list[Figure]:
    with Console(stderr=True).status(f"Pages of {groups:,} groups") as status:
        return pages.measure(groups, status.update)


def _demo(warm: float, seconds: float) -> list[Figure]:
    with Console(stderr=True).status("The demo") as status:
        try:
            return demo.measure(warm, seconds, status.update)
        except demo.DemoFailedError as error:
            print(f"error: {error}", file=sys.stderr)
            raise typer.Exit(1) from None


def _advice(groups: int) -> list[Figure]:
    with Console(stderr=True).status(f"Advice on {groups:,} groups") as status:
        return advice.measure(groups, status.update)


def _workers(rows: int, groups: int) -> list[Figure]:
    with Console(stderr=True).status("Starting a Spark cluster") as status:
        return workers.measure(rows, groups, status.update)


def _commits() -> list[Figure]:
    with Console(stderr=True).status("Writing a million commits and reading them five times"):
        return commits.measure()


def _history(groups: int, polls: int) -> list[Figure]:
    with Console(stderr=True).status(f"History of {groups:,} groups"):
        return history.measure(groups, polls)


def _poll(groups: int, polls: int) -> list[Figure]:
    goals = {_SMALL: _SMALL_SECONDS, _LARGE: _LARGE_SECONDS}
    with (
        Console(stderr=True).status(f"Starting a broker with {groups:,} groups") as shown,
        broker_with_groups(groups) as cluster,
    ):
        shown.update(f"{polls} polls of {groups:,} groups")
        return collect.measure(cluster.bootstrap_servers, groups, polls, goals.get(groups))


def _show(measured: list[Figure], as_json: bool) -> None:
    if as_json:
        print(figures.as_json(measured))
    else:
        figures.print_figures(Console(), measured)


if __name__ == "__main__":
    app()
