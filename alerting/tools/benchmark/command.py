"""``python -m alerting benchmark``: alerts on scenarios with a known truth, compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from alerting.status.phrases import duration
from alerting.tools.benchmark.run import (
    EVALUATORS,
    OURS,
    EvaluatedScenario,
    as_document,
    evaluate_scenario,
    fastest_baseline_delay,
    fastest_of,
    total_of,
)
from alerting.tools.benchmark.scoring import AlertScore
from simulation.scenarios import families
from simulation.scenarios.model import Scenario, ScenarioError, parse_scenario
from simulation.scenarios.model import as_document as scenario_document

_FIRST_SEED = 1000
"""Scenarios that are drawn have seeds that no variant has."""

_TITLES = {
    OURS: "Headroom",
    "burrow": "Burrow",
    "strimzi": "lag > 1000 for 10 s",
    "grafana": "sum(delta(lag[5m])) > 0 for 15 m",
}


def benchmark(
    scenarios: Annotated[
        Path | None,
        typer.Option(help="A folder of scenarios, a JSON file each, instead of the built-in ones."),
    ] = None,
    variant: Annotated[
        int,
        typer.Option(min=0, help="Variant of the built-in scenarios: other rates, polls, lengths."),
    ] = 0,
    variants: Annotated[
        int,
        typer.Option(
            min=0,
            help="Evaluate variants 1 to N of the built-in scenarios, and list what is not right "
            "by our rules. Exit status 3 where there is any.",
        ),
    ] = 0,
    drawn: Annotated[
        int,
        typer.Option(
            min=0,
            help="The same of N further scenarios, a seed each; also with --variants.",
        ),
    ] = 0,
    seed: Annotated[
        int,
        typer.Option(
            min=_FIRST_SEED,
            help="With --drawn: the first seed. One that nobody has tuned against is a fresh test.",
        ),
    ] = _FIRST_SEED,
    only: Annotated[
        str,
        typer.Option(help="With --variants or --drawn: scenarios with this in their file's name."),
    ] = "",
    write: Annotated[
        Path | None,
        typer.Option(help="Write the scenarios into this folder, and evaluate nothing."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Evaluate scenarios by our rules, Burrow's, Strimzi's and Grafana's, and compare."""
    console = Console(stderr=True)
    if variants or drawn:
        raise typer.Exit(3 if _sweep(variants, drawn, seed, only, console, as_json) else 0)
    try:
        count, found = _read(scenarios) if scenarios else _built_in(variant)
        shown = track(found, "Scenarios", total=count, console=console, transient=True)
        if write is not None:
            _write(write, shown)
            return
        evaluated = [evaluate_scenario(scenario) for scenario in shown]
    except (ScenarioError, OSError) as error:
        console.print(f"error: {error}", style="red", markup=False, highlight=False)
        raise typer.Exit(1) from None
    if as_json:
        print(json.dumps(as_document(evaluated)))
    else:
        _print(Console(), evaluated)


def _sweep(variants: int, drawn: int, seed: int, only: str, console: Console, as_json: bool) -> int:
    """Print what we are wrong on, or everything as JSON; return on how many scenarios."""
    made = [
        (name, make, variant)
        for variant in range(1, variants + 1)
        for name, make in families().items()
        if only in name
    ]
    drawn_from = [(name, make) for name, make in families().items() if only in name]
    made += [
        (*drawn_from[number % len(drawn_from)], seed + number)
        for number in range(drawn if drawn_from else 0)
    ]
    evaluated: list[EvaluatedScenario] = []
    found_of: dict[str, list[AlertScore]] = {}
    for name, make, variant in track(made, "Variants", console=console, transient=True):
        scenario = make(variant)
        evaluated.append(evaluate_scenario(scenario))
        found = evaluated[-1].scores[OURS]
        found_of.setdefault(name, []).append(found)
        if not as_json and (not found.is_right or found.flaps):
            print(
                f"{scenario.name} (polls of {scenario.poll_seconds:g} s): {found.result}; "
                f"{found.missed} missed, {found.false_alerts} false, {found.flaps} flaps",
                flush=True,
            )
    wrong = sum(not one.scores[OURS].is_right for one in evaluated)
    if as_json:
        print(json.dumps(as_document(evaluated)))
        return wrong
    for name, scores in found_of.items():
        delays = [delay for one in scores for delay in one.delays]
        overdue = [late for one in scores for late in one.overdue]
        if delays:
            usual, longest = duration(median(delays)), duration(max(delays))
            late = f"; {duration(max(overdue))} at most after it was overdue" if overdue else ""
            print(f"{name}: notified after {usual} (median), {longest} at most{late}")
    _print_totals(Console(), evaluated)
    print(f"{len(evaluated) - wrong} of {len(evaluated)} right")
    return wrong


def _built_in(variant: int) -> tuple[int, Iterator[Scenario]]:
    found = families()
    return len(found), (make(variant) for make in found.values())


def _read(folder: Path) -> tuple[int, Iterator[Scenario]]:
    if not folder.is_dir():
        raise ScenarioError(f"{folder} is no folder")
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise ScenarioError(f"{folder} has no file that ends in .json")
    return len(paths), map(_parse, paths)


def _parse(path: Path) -> Scenario:
    try:
        return parse_scenario(json.loads(path.read_bytes()))
    except ValueError as error:
        raise ScenarioError(f"{path}: {error}") from None


def _write(folder: Path, scenarios: Iterable[Scenario]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for scenario in scenarios:
        text = json.dumps(scenario_document(scenario))
        (folder / f"{scenario.name.replace(' ', '-')}.json").write_text(text)


def _print(console: Console, evaluated: list[EvaluatedScenario]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("scenario")
    for name in EVALUATORS:
        table.add_column(_TITLES[name])
    table.add_column("right and first")
    for one in evaluated:
        cells = [_cell(one.scores[name]) for name in EVALUATORS]
        first = fastest_of(one)
        table.add_row(one.name, *cells, "" if first is None else _TITLES[first])
    console.print(table)
    console.print()
    _print_totals(console, evaluated)
    fastest = fastest_baseline_delay(evaluated)
    if fastest is not None:
        console.print(
            f"\nMedian delay of whichever baseline was right and fastest on each scenario, known "
            f"only afterwards: {duration(fastest)}."
        )


def _print_totals(console: Console, evaluated: list[EvaluatedScenario]) -> None:
    totals = Table(box=None, pad_edge=False, header_style="bold")
    totals.add_column(f"of {len(evaluated)} scenarios")
    for column in (
        *("right", "missed", "false alerts", "flaps", "messages sent", "median delay"),
        "overdue at most",
    ):
        totals.add_column(column, justify="right")
    for name in EVALUATORS:
        total = total_of(evaluated, name)
        totals.add_row(
            _TITLES[name],
            *(
                str(value)
                for value in (
                    total.right,
                    total.missed,
                    total.false_alerts,
                    total.flaps,
                    total.sent,
                )
            ),
            *(
                "" if seconds is None else duration(seconds)
                for seconds in (total.median_delay, total.longest_overdue)
            ),
        )
    console.print(totals)


def _cell(found: AlertScore) -> str:
    text = found.result
    if found.delays:
        text += " after " + ", ".join(duration(delay) for delay in found.delays)
    if found.false_alerts:
        text += f" ({found.false_alerts} false)"
    return text if found.is_right else f"[red]{text}[/]"
