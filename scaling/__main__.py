"""``python -m scaling``: advice from the lake. The only module of this package that reads."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table as Grid

from alerting.windows import WINDOW_SECONDS
from config.errors import ConfigError
from config.load import load
from config.settings import Settings
from lake.errors import LakeError
from lake.store import Lake
from lake.tables import BROKERS
from scaling.model import Kind, Recommendation, Severity
from scaling.reading import read_cluster
from scaling.recommend import recommend_group, recommend_topic
from scaling.simulate_command import simulate
from scaling.topic_facts import topic_facts, topic_readers

BAD_CONFIGURATION = 2

_WINDOW = timedelta(seconds=WINDOW_SECONDS)
_STYLES = {
    Severity.ACT_NOW: "bold red",
    Severity.WATCH: "yellow",
    Severity.UNKNOWN: "magenta",
    Severity.INFO: "dim",
}
_SEVERITIES = tuple(Severity)

app = typer.Typer(
    help="Says what to change about consumers, partitions and topics, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


app.command()(simulate)


@app.command()
def recommend(
    config: Annotated[Path, typer.Option("--config", help="The configuration file.")],
    cluster: Annotated[str | None, typer.Option(help="Only this cluster.")] = None,
    group: Annotated[str | None, typer.Option(help="Only this group, with all details.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print advice on groups and topics, from the last ten minutes of samples in the lake.

    Nothing is changed. Exit status: 1 the lake holds no recent sample or not this group, 2 the
    configuration is wrong.
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
                advice[name] = _advice(store, name, datetime.now(UTC), group)
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
    found.sort(key=lambda one: (_SEVERITIES.index(one.severity), one.cluster, one.subject))
    if as_json:
        print(json.dumps({"recommendations": [asdict(one) for one in found]}, indent=2))
    elif group:
        for one in found:
            _print_details(Console(highlight=False), one)
    else:
        _print_table(Console(highlight=False), found)


def _clusters(settings: Settings, cluster: str | None) -> list[str]:
    names = [one.name for one in settings.clusters]
    if cluster is None:
        return names
    if cluster not in names:
        _fail(f"--cluster: no cluster {cluster}; there are {', '.join(names)}", BAD_CONFIGURATION)
    return [cluster]


def _advice(
    store: Lake, cluster: str, now: datetime, only_group: str | None
) -> list[Recommendation]:
    facts_of = read_cluster(store, cluster, now)
    advice = [
        one
        for key, facts in facts_of.groups.items()
        if only_group in (None, key.group)
        for one in recommend_group(facts)
    ]
    if only_group is None and not facts_of.partitions.is_empty():
        brokers = store.read(BROKERS, since=now - _WINDOW, cluster=cluster)
        readers = topic_readers(facts_of.groups)
        for topic in topic_facts(facts_of.topics, facts_of.partitions, brokers, readers).values():
            advice.extend(recommend_topic(topic))
    return advice


def _print_table(console: Console, found: list[Recommendation]) -> None:
    grid = Grid("", "advice", show_lines=True)
    for one in found:
        if one.kind is Kind.KEEP:
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
    kept = [one.subject for one in found if one.kind is Kind.KEEP]
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
