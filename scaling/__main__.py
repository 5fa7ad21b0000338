"""``python -m scaling``: advice from the lake."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, NoReturn

import polars as pl
import typer
from rich.console import Console
from rich.table import Table as Grid

from config.errors import ConfigError
from config.load import load
from config.settings import Settings
from lake.errors import LakeError
from lake.storage.store import Lake
from scaling.advice.advice_table import from_row
from scaling.advice.model import AdviceKind, AdviceSeverity, Recommendation, Subject, by_urgency
from scaling.advice.stored_advice import standing
from scaling.backtest.command import run_backtest
from scaling.evaluate import evaluate
from scaling.whatif.command import simulate

BAD_CONFIGURATION = 2

_STYLES = {
    AdviceSeverity.ACT_NOW: "bold red",
    AdviceSeverity.WATCH: "yellow",
    AdviceSeverity.UNKNOWN: "magenta",
    AdviceSeverity.INFO: "dim",
}

app = typer.Typer(
    help="Says what to change about consumers, partitions and topics, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


app.command()(simulate)
app.command("backtest")(run_backtest)


@app.command()
def recommend(
    config: Annotated[Path, typer.Option("--config", help="The configuration file.")],
    cluster: Annotated[str | None, typer.Option(help="Only this cluster.")] = None,
    group: Annotated[str | None, typer.Option(help="Only this group, with all details.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    acknowledge: Annotated[
        bool,
        typer.Option(
            "--acknowledge", help="Show changes behind blockers too: you have read what breaks."
        ),
    ] = False,
) -> None:
    """Print the advice on groups, topics, connectors and queues that the history service gave last.

    Where it gave none in the last half hour, the lake's last ten minutes are evaluated here, by
    the same rules. Nothing is changed. Exit status: 1 the lake holds no recent sample or not this
    group, 2 the configuration is wrong.
    """
    try:
        settings = load(config)
    except ConfigError as error:
        _fail(str(error), BAD_CONFIGURATION)
    names = _clusters(settings, cluster)
    store = Lake(settings.lake)
    console = Console(stderr=True)
    advice: dict[str, list[Recommendation]] = {}
    try:
        with console.status("Reading the lake"):
            for name in names:
                advice[name] = _advice(store, name, settings, group)
    except LakeError as error:
        _fail(str(error))
    found = [one for of_cluster in advice.values() for one in of_cluster]
    if found and group is None:
        for name in (name for name in names if not advice[name]):
            print(f"{name}: no sample in the last ten minutes, so no advice", file=sys.stderr)
    if not found:
        _fail(
            f"no group {group} in the last ten minutes of {', '.join(names)}"
            if group
            else f"no sample of {', '.join(names)} in the last ten minutes; "
            "python -m collectors run collects them"
        )
    found.sort(key=by_urgency)
    if not acknowledge:
        found = [replace(one, artefacts=()) if one.blockers else one for one in found]
    if as_json:
        rows = [
            {**asdict(one), "saving": one.saving, "needs_acknowledgement": bool(one.blockers)}
            for one in found
        ]
        print(json.dumps({"recommendations": rows}, indent=2))
    elif group:
        for one in found:
            _print_details(Console(highlight=False), one)
    else:
        _print_table(Console(highlight=False), found)


def _advice(
    store: Lake, cluster: str, settings: Settings, group: str | None
) -> list[Recommendation]:
    """Return the advice that stands; else evaluate it, and say so."""
    now = datetime.now(UTC)
    last = "none"
    try:
        given = standing(store, cluster, now)
    except LakeError as error:
        given, last = None, f"none that can be read ({error})"
    if given is not None and given.is_current(now):
        print(f"{cluster}: advice as of {given.as_of:%Y-%m-%d %H:%M:%S} UTC", file=sys.stderr)
        rows = given.rows
        if group is not None:
            rows = rows.filter(pl.col("subject_kind") == Subject.GROUP, pl.col("subject") == group)
        return [from_row(row) for row in rows.iter_rows(named=True)]
    found = evaluate(store, cluster, now, settings.scaling, group)
    if found:
        if given is not None and given.as_of is not None:
            last = f"none since {given.as_of:%Y-%m-%d %H:%M} UTC"
        print(
            f"{cluster}: the history service gave {last}: evaluated now from the last ten minutes",
            file=sys.stderr,
        )
    return found


def _clusters(settings: Settings, cluster: str | None) -> list[str]:
    names = [one.name for one in settings.clusters]
    if cluster is None:
        return names
    if cluster not in names:
        _fail(f"--cluster: no cluster {cluster}; there are {', '.join(names)}", BAD_CONFIGURATION)
    return [cluster]


def _print_table(console: Console, found: list[Recommendation]) -> None:
    grid = Grid("", "advice", show_lines=True)
    for one in found:
        if one.kind is AdviceKind.KEEP:
            continue
        value = ""
        if one.quantity:
            value = f": {one.quantity} {'unknown' if one.current is None else one.current}"
            value += f" → {_proposed(one)}" if _proposed(one) else ""
        missing = f" Unknown: {one.unknown_reason}." if one.unknown_reason else ""
        grid.add_row(
            f"[{_STYLES[one.severity]}]{one.severity.value}[/]",
            f"[bold]{one.subject}[/] ({one.cluster}), {one.kind.value}{value}\n"
            f"{one.reason}{missing}",
        )
    if grid.row_count:
        console.print(grid)
    kept = [one.subject for one in found if one.kind is AdviceKind.KEEP]
    if kept:
        console.print(f"No reason to change {len(kept)} more: {', '.join(kept)}")


def _print_details(console: Console, one: Recommendation) -> None:
    console.print(
        f"[{_STYLES[one.severity]}]{one.severity.value}[/] [bold]{one.subject}[/] "
        f"({one.cluster}): {one.kind.value}, confidence {one.confidence.value}"
    )
    if one.quantity:
        now = "unknown" if one.current is None else str(one.current)
        console.print(f"  {one.quantity}: now {now}, proposed {_proposed(one) or 'no change'}")
    console.print(f"  {one.reason}")
    if one.unknown_reason:
        console.print(f"  Unknown: {one.unknown_reason}.")
    for evidence in one.evidence:
        value = "unknown" if evidence.value is None else evidence.value
        text = f"{value:.3g}" if isinstance(value, float) else str(value)
        console.print(f"    {evidence.name}: {text} {evidence.unit}".rstrip())
    for caveat in one.caveats:
        console.print(f"  {caveat.level.value}: {caveat.text}")
    if one.consequence:
        console.print(f"  If nothing is done: {one.consequence}")
    if one.keda:
        console.print(
            f"  KEDA (lagThreshold {one.keda.lag_threshold}) would run {one.keda.replicas}: "
            f"{one.keda.why}"
        )
    if one.blockers and not one.artefacts:
        console.print("  The change is shown with --acknowledge, after you have read the blockers.")
    for artefact in one.artefacts:
        console.print(f"  {artefact.name}:", soft_wrap=True)
        console.print(artefact.text, soft_wrap=True, markup=False)


def _proposed(one: Recommendation) -> str:
    if one.proposed is not None:
        return str(one.proposed)
    return "unknown" if one.quantity and one.unknown_reason else ""


def _fail(message: str, code: int = 1) -> NoReturn:
    print(message, file=sys.stderr)
    raise typer.Exit(code)


if __name__ == "__main__":
    app(prog_name="python -m scaling")
