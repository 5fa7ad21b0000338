"""``python -m scaling simulate``: a what-if on a group of the lake, or on given numbers."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.table import Table as Grid

from config.errors import ConfigError
from config.load import load
from lake.errors import LakeError
from lake.store import Lake
from scaling.reader import read_group
from scaling.simulate import (
    Campaign,
    Change,
    LostConsumer,
    Outcome,
    SimulationError,
    Situation,
    WhatIf,
    even_situation,
    what_if,
)
from scaling.situation import situation_of
from simulation.model import Floats

_BAD_USE = 2
_CHANGE, _NOW = "What changes", "The group now"


def simulate(
    config: Annotated[Path | None, typer.Option("--config", help="The configuration file.")] = None,
    cluster: Annotated[str | None, typer.Option(help="The group's cluster.")] = None,
    group: Annotated[
        str | None, typer.Option(help="Start from this group's present rates, in the lake.")
    ] = None,
    consumers: Annotated[
        int | None, typer.Option(min=0, help="Consumers.", rich_help_panel=_CHANGE)
    ] = None,
    partitions: Annotated[
        int | None, typer.Option(min=1, help="Partitions.", rich_help_panel=_CHANGE)
    ] = None,
    capacity: Annotated[
        float | None,
        typer.Option(help="Messages a second of one consumer.", rich_help_panel=_CHANGE),
    ] = None,
    arrival_factor: Annotated[
        float, typer.Option(help="All arrivals times this.", rich_help_panel=_CHANGE)
    ] = 1.0,
    campaign: Annotated[
        float | None,
        typer.Option(help="For a while arrivals times this.", rich_help_panel=_CHANGE),
    ] = None,
    campaign_minutes: Annotated[
        float, typer.Option(min=0, help="How long.", rich_help_panel=_CHANGE)
    ] = 60.0,
    lose_minutes: Annotated[
        float | None,
        typer.Option(min=0, help="One consumer is away so long.", rich_help_panel=_CHANGE),
    ] = None,
    after_minutes: Annotated[
        float,
        typer.Option(min=0, help="When campaign or loss begin.", rich_help_panel=_CHANGE),
    ] = 10.0,
    now_consumers: Annotated[
        int | None, typer.Option(min=0, help="Consumers.", rich_help_panel=_NOW)
    ] = None,
    now_partitions: Annotated[
        int | None, typer.Option(min=1, help="Partitions.", rich_help_panel=_NOW)
    ] = None,
    now_arrival: Annotated[
        float | None,
        typer.Option(min=0, help="Messages a second that arrive.", rich_help_panel=_NOW),
    ] = None,
    now_capacity: Annotated[
        float | None,
        typer.Option(help="Messages a second of one consumer.", rich_help_panel=_NOW),
    ] = None,
    now_lag: Annotated[
        int | None, typer.Option(min=0, help="Messages that wait.", rich_help_panel=_NOW)
    ] = None,
    objective_seconds: Annotated[
        float | None, typer.Option(min=0, help="Time lag that is not to be exceeded.")
    ] = None,
    hours: Annotated[float, typer.Option(help="How far ahead.")] = 6.0,
    seed: Annotated[int, typer.Option(min=0, help="Of arrivals and service times.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what would become of lag and cost if something changed.

    Starts from a group in the lake (--config and --group), from given numbers (--now-…), or from
    both: what is given counts. Nothing is changed. Exit status: 1 it cannot be simulated, 2 the
    command or the configuration is wrong.
    """
    change = Change(
        consumers=consumers,
        partitions=partitions,
        capacity_per_second=capacity,
        arrival_factor=arrival_factor,
        campaign=None
        if campaign is None
        else Campaign(campaign, after_minutes * 60, campaign_minutes * 60),
        lost=None if lose_minutes is None else LostConsumer(after_minutes * 60, lose_minutes * 60),
    )
    try:
        with Console(stderr=True).status("Simulating"):
            if group is not None:
                situation = _of_group(config, cluster, group, now_capacity, now_consumers)
                situation = _corrected(situation, now_arrival, now_lag)
            else:
                situation = _of_numbers(
                    now_partitions, now_arrival, now_consumers, now_capacity, now_lag
                )
            if objective_seconds is not None:
                situation = replace(situation, objective_seconds=objective_seconds)
            result = what_if(situation, change, hours=hours, seed=seed)
    except (SimulationError, LakeError) as error:
        _fail(str(error))
    if as_json:
        print(json.dumps(_plain(result), indent=2))
    else:
        _print(Console(highlight=False), group or "the group", result)


def _of_group(
    config: Path | None,
    cluster: str | None,
    group: str,
    capacity: float | None,
    consumers: int | None,
) -> Situation:
    if config is None:
        _fail("--group needs --config, where the lake is named", _BAD_USE)
    try:
        settings = load(config)
    except ConfigError as error:
        _fail(str(error), _BAD_USE)
    names = [one.name for one in settings.clusters if cluster in (None, one.name)]
    if not names:
        _fail(f"--cluster: no cluster {cluster}", _BAD_USE)
    store, now = Lake(settings.lake), datetime.now(UTC)
    found = [
        facts
        for name in names
        if (facts := read_group(store, name, group, now, settings.scaling)) is not None
    ]
    if not found:
        _fail(f"no group {group} in the last ten minutes of {', '.join(names)}")
    if len(found) > 1:
        _fail(f"{group} is in several clusters: choose with --cluster", _BAD_USE)
    try:
        return situation_of(found[0], capacity_per_second=capacity, consumers=consumers)
    except SimulationError as error:
        raise SimulationError(f"{error} (--now-consumers, --now-capacity)") from error


def _of_numbers(
    partitions: int | None,
    arrival: float | None,
    consumers: int | None,
    capacity: float | None,
    lag: int | None,
) -> Situation:
    given = {
        "--now-partitions": partitions,
        "--now-arrival": arrival,
        "--now-consumers": consumers,
        "--now-capacity": capacity,
    }
    if partitions is None or arrival is None or consumers is None or capacity is None:
        missing = ", ".join(name for name, value in given.items() if value is None)
        _fail(f"without --group these are needed: {missing}", _BAD_USE)
    return even_situation(
        partitions=partitions,
        arrival_per_second=arrival,
        consumers=consumers,
        capacity_per_second=capacity,
        lag=lag or 0,
    )


def _corrected(situation: Situation, arrival: float | None, lag: int | None) -> Situation:
    """Scale a group's rates and lag to totals that were given."""
    if arrival is not None:
        rates = _scaled(situation.arrival_per_second, arrival)
        situation = replace(situation, arrival_per_second=rates)
    if lag is not None:
        rates = situation.arrival_per_second
        shares = _scaled(rates, float(lag))
        ages = np.divide(shares, rates, out=np.zeros_like(rates), where=rates > 0)
        situation = replace(situation, lag=np.floor(shares), time_lag_seconds=ages)
    return situation


def _scaled(values: Floats, total: float) -> Floats:
    now = float(values.sum())
    return values * (total / now) if now > 0 else np.full(len(values), total / len(values))


def _plain(result: WhatIf) -> dict[str, Any]:
    plain = asdict(result)
    for run in ("now", "changed"):
        points = {key: plain[run].pop(key).tolist() for key in _SERIES}
        plain[run]["series"] = points
    plain["notes"] = list(result.notes)
    return plain


_SERIES = ("seconds", "lag", "time_lag_seconds")


def _print(console: Console, name: str, result: WhatIf) -> None:
    grid = Grid(title=f"{name}, the next {result.hours:g} hours")
    for column in ("", "as it is", "changed"):
        grid.add_column(column, justify="left" if not column else "right")
    for label, now, changed in zip(
        _labels(result.objective_seconds),
        _texts(result.now, result.hours),
        _texts(result.changed, result.hours),
        strict=True,
    ):
        grid.add_row(label, now, changed)
    console.print(grid)
    for note in result.notes:
        console.print(f"Assumed: {note}.")


def _labels(objective_seconds: float) -> tuple[str, ...]:
    return (
        "consumers",
        "partitions",
        "most messages waiting",
        "messages waiting at the end",
        "highest time lag",
        "time lag at the end",
        "from the peak until drained",
        f"minutes over {_duration(objective_seconds)}",
        "lost messages",
        "consumer-hours",
    )


def _texts(run: Outcome, hours: float) -> tuple[str, ...]:
    return (
        f"{run.consumers}",
        f"{run.partitions}",
        f"{run.lag_peak:,.0f}",
        f"{run.lag_end:,.0f}",
        _duration(run.time_lag_peak_seconds),
        _duration(run.time_lag_end_seconds),
        _drain(run, hours),
        f"{run.violation_minutes:,.1f}",
        f"{run.lost_messages:,.0f}",
        f"{run.consumer_hours:,.1f}",
    )


def _drain(run: Outcome, hours: float) -> str:
    return f"not in {hours:g} h" if run.drain_seconds is None else _duration(run.drain_seconds)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _fail(message: str, code: int = 1) -> NoReturn:
    print(message, file=sys.stderr)
    raise typer.Exit(code)
