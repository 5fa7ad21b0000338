"""``python -m scaling backtest``: our rule against others', as a table or as JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table as Grid

from scaling.backtest.run import (
    OURS,
    BacktestWorkload,
    PolicyResult,
    WorkloadResult,
    as_document,
    backtest,
    missed_goals,
)
from simulation.traces import Trace, TraceError, read_traces
from simulation.workloads import NAMES, UnknownWorkloadError, find_name

_BAD_USE = 2


def run_backtest(
    workload: Annotated[
        str | None, typer.Option(help="Only this workload, or this recorded series.")
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Seeds; every second one is scored, the others tune.")
    ] = 20,
    traces: Annotated[
        Path | None,
        typer.Option(help="A folder of recorded arrivals: CSV files with timestamp,value."),
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes; as many as there are cores.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compare scaling policies on simulated workloads and on recorded arrivals.

    Every policy sees what collectors would see. Exit status: 1 the traces cannot be read, 2 there
    is no such workload.
    """
    subjects = _subjects(workload, _read(traces))
    results: list[WorkloadResult] = []
    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("Simulating", total=None)
        for result in backtest(
            subjects,
            seeds,
            processes=processes or os.cpu_count() or 1,
            progress=lambda done, total: shown.update(task, completed=done, total=total),
        ):
            results.append(result)
            shown.console.print(f"{result.workload}: done")
    if as_json:
        print(json.dumps(as_document(results), indent=2))
    else:
        _print(Console(highlight=False), results)


def _read(folder: Path | None) -> list[Trace]:
    if folder is None:
        return []
    try:
        found, problems = read_traces(folder)
    except TraceError as error:
        _fail(str(error), 1)
    for problem in problems:
        print(f"left out: {problem}", file=sys.stderr)
    print(f"recorded series: {', '.join(trace.name for trace in found)}", file=sys.stderr)
    return found


def _subjects(wanted: str | None, traces: list[Trace]) -> list[BacktestWorkload]:
    recorded = [BacktestWorkload(name=trace.name, trace=trace) for trace in traces]
    if wanted is None:
        return [*(BacktestWorkload(name=name) for name in NAMES), *recorded]
    for subject in recorded:
        if subject.name.lower() == wanted.lower():
            return [subject]
    try:
        return [BacktestWorkload(name=find_name(wanted))]
    except UnknownWorkloadError as error:
        _fail(str(error), _BAD_USE)


def _print(console: Console, results: list[WorkloadResult]) -> None:
    for result in results:
        grid = Grid(title=f"{result.workload}, {result.seeds} seeds of {result.days:g} days")
        grid.add_column("policy")
        for column in ("violation min/day", "consumer-h/day", "rescales/day", "lost", "x oracle"):
            grid.add_column(column, justify="right")
        for one in result.policies:
            grid.add_row(*_cells(one), style="bold" if one.policy == OURS else None)
        console.print(grid)
        for line in missed_goals(result):
            console.print(f"  missed: {line}")
    overall = as_document(results)["overall"]
    for name, value in overall.items():
        console.print(f"{name.replace('_', ' ')}: {'unknown' if value is None else f'{value:.2f}'}")


def _cells(one: PolicyResult) -> tuple[str, ...]:
    return (
        one.policy,
        f"{one.violation_minutes_per_day:.1f}",
        f"{one.consumer_hours_per_day:.0f}",
        f"{one.rescales_per_day:.1f}",
        f"{one.lost_messages:.0f}",
        "unknown" if one.oracle_ratio is None else f"{one.oracle_ratio:.2f}",
    )


def _fail(message: str, code: int) -> NoReturn:
    print(message, file=sys.stderr)
    raise typer.Exit(code)
