"""``python -m scaling simulate``: a what-if on a group of the lake, or on given numbers."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, NoReturn

import typer
from pydantic import ConfigDict, Field, ValidationError
from rich.console import Console
from rich.table import Table as Grid

from config.errors import ConfigError
from config.load import load, problem_lines, read_yaml
from config.parts import Section
from lake.errors import LakeError
from lake.storage.store import Lake
from scaling.facts.lake_reader import read_group
from scaling.whatif.inputs import what_if_inputs
from scaling.whatif.queue_model import (
    SimulationError,
    WhatIf,
    WhatIfChange,
    WhatIfInputs,
    WhatIfOutcome,
    even_inputs,
    what_if,
)

_BAD_USE = 2


class _Finite(Section):
    model_config: ClassVar[ConfigDict] = ConfigDict(allow_inf_nan=False)


class Now(_Finite):
    """The group now: all of it without a group of the lake, else what its samples do not tell."""

    consumers: int | None = None
    capacity_per_second: float | None = Field(default=None, description="of one consumer")
    partitions: int | None = Field(default=None, description="only without a group")
    arrival_per_second: float | None = Field(default=None, description="only without a group")
    lag: int | None = Field(default=None, description="messages; only without a group")


class Inputs(_Finite):
    """The file behind ``--inputs``."""

    now: Now = Now()
    change: WhatIfChange = WhatIfChange()
    objective_seconds: float | None = Field(default=None, description="highest wanted time lag")
    hours: float = Field(default=6.0, description="how far ahead")
    seed: int = Field(default=1, ge=0)


def simulate(
    inputs: Annotated[
        Path, typer.Option("--inputs", help="YAML: what changes. See docs/simulation.md.")
    ],
    config: Annotated[Path | None, typer.Option("--config", help="The configuration file.")] = None,
    cluster: Annotated[str | None, typer.Option(help="The group's cluster.")] = None,
    group: Annotated[
        str | None, typer.Option(help="Start from this group's present rates, in the lake.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what would become of lag and cost if something changed.

    Starts from a group in the lake (--config and --group), or from the numbers of the inputs.
    Nothing is changed. Exit status: 1 it cannot be simulated, 2 the command, the inputs or the
    configuration are wrong.
    """
    try:
        given = read_inputs(inputs)
        with Console(stderr=True).status("Simulating"):
            if group is None:
                start = _of_numbers(given.now)
            else:
                start = _of_group(config, cluster, group, given.now)
            if given.objective_seconds is not None:
                start = replace(start, objective_seconds=given.objective_seconds)
            result = what_if(start, given.change, hours=given.hours, seed=given.seed)
    except ConfigError as error:
        _fail(str(error), _BAD_USE)
    except (SimulationError, LakeError) as error:
        _fail(str(error))
    if as_json:
        print(json.dumps(_plain(result), indent=2))
    else:
        _print(Console(highlight=False), group or "the group", result)


def read_inputs(path: Path) -> Inputs:
    """Read the inputs of a what-if.

    Raises:
        ConfigError: The file cannot be read or used.
    """
    content = read_yaml(path)
    try:
        return Inputs.model_validate({} if content is None else content)
    except ValidationError as error:
        raise ConfigError("\n".join(problem_lines(path, error))) from None


def _of_group(config: Path | None, cluster: str | None, group: str, given: Now) -> WhatIfInputs:
    if config is None:
        raise ConfigError("--group needs --config, where the lake is named")
    if given.partitions is not None or given.arrival_per_second is not None or given.lag:
        raise ConfigError("with --group, now takes only consumers and capacity_per_second")
    settings = load(config)
    names = [one.name for one in settings.clusters if cluster in (None, one.name)]
    if not names:
        raise ConfigError(f"--cluster: no cluster {cluster}")
    store, now = Lake(settings.lake), datetime.now(UTC)
    found = [
        facts
        for name in names
        if (facts := read_group(store, name, group, now, settings.scaling)) is not None
    ]
    if not found:
        raise SimulationError(f"no group {group} in the last ten minutes of {', '.join(names)}")
    if len(found) > 1:
        raise ConfigError(f"{group} is in several clusters: choose with --cluster")
    return what_if_inputs(
        found[0], capacity_per_second=given.capacity_per_second, consumers=given.consumers
    )


def _of_numbers(given: Now) -> WhatIfInputs:
    partitions, arrival = given.partitions, given.arrival_per_second
    consumers, capacity = given.consumers, given.capacity_per_second
    if partitions is None or arrival is None or consumers is None or capacity is None:
        missing = [
            f"now.{name}"
            for name in ("partitions", "arrival_per_second", "consumers", "capacity_per_second")
            if getattr(given, name) is None
        ]
        raise ConfigError(f"without --group the inputs need {', '.join(missing)}")
    return even_inputs(
        partitions=partitions,
        arrival_per_second=arrival,
        consumers=consumers,
        capacity_per_second=capacity,
        lag=given.lag or 0,
    )


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
    now = _texts(result.now, result.hours, result.objective_seconds)
    changed = _texts(result.changed, result.hours, result.objective_seconds)
    for label, text in now.items():
        grid.add_row(label, text, changed[label])
    console.print(grid)
    if result.spare:
        console.print(f"{result.spare[0].upper()}{result.spare[1:]}.")
    for note in result.notes:
        console.print(f"Assumed: {note}.")


def _texts(run: WhatIfOutcome, hours: float, objective_seconds: float) -> dict[str, str]:
    return {
        "consumers": f"{run.consumers}",
        "partitions": f"{run.partitions}",
        "most messages waiting": f"{run.lag_peak:,.0f}",
        "messages waiting at the end": f"{run.lag_end:,.0f}",
        "highest time lag": _duration(run.time_lag_peak_seconds),
        "time lag at the end": _duration(run.time_lag_end_seconds),
        "from the peak until drained": _drain(run, hours),
        f"minutes over {_duration(objective_seconds)}": f"{run.violation_minutes:,.1f}",
        "lost messages": f"{run.lost_messages:,.0f}",
        "consumer-hours": f"{run.consumer_hours:,.1f}",
    }


def _drain(run: WhatIfOutcome, hours: float) -> str:
    if run.drain_seconds is None:
        return f"not in {hours:g} h"
    return f"{_duration(run.drain_seconds)}{', then back' if run.is_back else ''}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _fail(message: str, code: int = 1) -> NoReturn:
    print(message, file=sys.stderr)
    raise typer.Exit(code)
