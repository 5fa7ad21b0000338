"""``python -m alerting``: the service, the state of alerts, silences, and trying rules."""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from alerting.errors import AlertingError
from alerting.inputs.lake_rows import clusters_of
from alerting.notify.requests import Request
from alerting.notify.shared_state import ask, only_service, read_state
from alerting.notify.store import AlertStore
from alerting.notify.wording import moment
from alerting.rules.rule_file import load_rules, parse_duration
from alerting.service import AlertingService
from alerting.tools.benchmark.command import benchmark
from alerting.tools.commands import parse_moment, replay_command, test_command, test_notify_command
from alerting.tools.explain import as_object, explained, print_explanation
from alerting.tools.status_report import print_status, status_as_object, written_clusters
from config.errors import ConfigError
from config.load import load
from config.logs import log_to_stderr
from config.settings import Settings
from config.visible import visible
from lake.deploy_marks import deploy_mark
from lake.deploy_marks import write as write_mark
from lake.errors import LakeError, LeaseLostError
from lake.storage.current_store import CurrentStore
from lake.storage.store import Lake
from runtime import heartbeat

BAD_CONFIGURATION = 2

app = typer.Typer(
    help="Tells people what is wrong: once, with a cause and a next step.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

ConfigOption = Annotated[Path, typer.Option("--config", help="The configuration file.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
RulesOption = Annotated[
    Path | None, typer.Option("--rules", help="This file of rules instead of alerting.rules.")
]


app.command()(benchmark)


@app.command()
def run(config: ConfigOption) -> None:
    """Evaluate the rules at each poll and send what follows from it, until stopped.

    Where the state is shared, a second service waits for the first one to end. Exit status: 0
    after a signal, 1 the work cannot be done or another service has taken it over, 2 the
    configuration is wrong.
    """
    settings = _settings(config)
    log_to_stderr()
    heartbeat.start()
    _quiet()
    ended, lost = threading.Event(), threading.Event()

    def end(*_: object) -> None:
        ended.set()

    def lose(error: LeaseLostError) -> None:
        logging.getLogger(__name__).error("%s", error)
        lost.set()
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    with _one_line(), only_service(settings, ended, lose) as hold:
        if not ended.is_set():
            AlertingService(settings, hold=hold, ended=ended).run()
    raise typer.Exit(1 if lost.is_set() else 0)


@app.command()
def status(config: ConfigOption, as_json: JsonOption = False) -> None:
    """Print what fires, what is pending, what is inhibited, and how delivery goes.

    Exit status: 0 nothing fires, 3 something does, 1 the store cannot be read, 2 the
    configuration is wrong.
    """
    settings = _settings(config)
    with _one_line(), _state(settings) as store:
        found = status_as_object(store, settings.alerting.rules, time.time())
        found["clusters"] = written_clusters(CurrentStore(settings.lake), clusters_of(settings))
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        print_status(Console(), found)
    raise typer.Exit(3 if found["firing"] else 0)


@app.command("explain")
def explain_group(
    config: ConfigOption,
    group: Annotated[str, typer.Argument(help="The consumer group.")],
    moment_text: Annotated[
        str | None, typer.Option("--at", help="At this moment: 2026-01-05T10:00Z. Else now.")
    ] = None,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Only this cluster.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print why a group has its status: what was measured, and what it is compared with.

    Exit status: 1 no cluster has the group, 2 the configuration is wrong.
    """
    settings = _settings(config)
    with _one_line():
        now = time.time() if moment_text is None else parse_moment(moment_text)
        clusters = clusters_of(settings) if cluster is None else [cluster]
        lake, objective = Lake(settings.lake), settings.scaling.objective_seconds(group)
        found = [
            as_object(name, group, now, one)
            for name in clusters
            if (one := explained(lake, name, group, now, objective_seconds=objective)) is not None
        ]
        if not found:
            raise AlertingError(f"no cluster has samples of {group} at {moment(now)}")
    if as_json:
        print(json.dumps(found, indent=2))
        return
    for row in found:
        print_explanation(Console(), row)


@app.command()
def silence(
    config: ConfigOption,
    matchers: Annotated[
        list[str] | None, typer.Argument(help='Such as group=payments, "rule=~Group.*".')
    ] = None,
    duration: Annotated[str | None, typer.Option("--for", help="How long: 30m, 2h, 1d.")] = None,
    starts_in: Annotated[str, typer.Option("--in", help="Begin later: 30m, 2h.")] = "0s",
    author: Annotated[str, typer.Option("--author", help="Who.")] = "",
    comment: Annotated[str, typer.Option("--comment", help="Why.")] = "",
    end: Annotated[int | None, typer.Option("--end", help="End this silence now.")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List the silences.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a silence, list silences, or end one: nobody is notified of what it matches."""
    settings = _settings(config)
    now = time.time()
    with _one_line(), _state(settings) as store:
        if end is not None:
            if not ask(settings, Request(kind="end", at=now, number=end)):
                raise AlertingError(f"there is no silence {end} that has not ended")
            print(f"silence {end} is ended")
            return
        if list_all:
            rows = [
                {
                    "id": one.id,
                    "matchers": [str(matcher) for matcher in one.matchers],
                    "problem": f"cannot be read: {one.problem}" if one.problem else None,
                    "starts_at": one.starts_at,
                    "ends_at": one.ends_at,
                    "author": one.author,
                    "comment": one.comment,
                }
                for one in store.silences(now)
            ]
            print(json.dumps(rows, indent=2) if as_json else _silence_lines(rows))
            return
        if duration is None:
            raise ValueError("--for says how long the silence lasts, for example --for 2h")
        starts_at = now + parse_duration(starts_in)
        wanted = Request(
            kind="silence",
            at=now,
            matchers=tuple(matchers or ()),
            starts_at=starts_at,
            ends_at=starts_at + parse_duration(duration),
            author=author,
            comment=comment,
        )
        number = ask(settings, wanted)
        print(json.dumps({"id": number}) if as_json else f"silence {number} is made")


def _silence_lines(rows: list[dict[str, Any]]) -> str:
    lines = []
    for row in rows:
        what = " ".join(row["matchers"]) or row["problem"]
        until = f"until {moment(row['ends_at'])}"
        said = f"{row['id']}  {what}  {until}  {row['author']}: {row['comment']}"
        lines.append(visible(said))
    return "\n".join(lines) or "no silence is on or to come"


@app.command()
def ack(
    config: ConfigOption,
    alert: Annotated[str, typer.Argument(help="The alert's id, or how it begins.")],
    author: Annotated[str, typer.Option("--author", help="Who looks after it.")] = "",
    comment: Annotated[str, typer.Option("--comment", help="What they say.")] = "",
    take_back: Annotated[
        bool, typer.Option("--take-back", help="Take back that somebody looks after it.")
    ] = False,
) -> None:
    """Acknowledge an alert: it is not repeated, and its end is notified; or take that back."""
    settings = _settings(config)
    with _one_line(), _state(settings) as store:
        known = [one for one in store.alerts().values() if one.state.value == "firing"]
        found = [one for one in known if one.id.startswith(alert)]
        if len(found) != 1:
            number = "no alert" if not found else f"{len(found)} alerts"
            raise AlertingError(f"{number} that fires has an id that begins with {alert}")
        one, by = found[0], store.acknowledgements().get(found[0].id)
        wanted = Request(
            kind="take back" if take_back else "acknowledge",
            at=time.time(),
            alert=one.id,
            author=author,
            comment=comment,
            acknowledged_at=by.at if take_back and by else 0.0,
        )
        if not ask(settings, wanted):
            raise AlertingError(f"nobody has acknowledged {one.id}")
        done = "not acknowledged any more" if take_back else "acknowledged"
        print(f"{one.id} is {done}: {visible(one.what)}")


@app.command()
def mark(
    config: ConfigOption,
    text: Annotated[str, typer.Argument(help='What was deployed, such as "orders 1.4.2".')],
    cluster: Annotated[str | None, typer.Option("--cluster", help="Where.")] = None,
    group: Annotated[str | None, typer.Option("--group", help="Of this consumer group.")] = None,
    topic: Annotated[str | None, typer.Option("--topic", help="Of this topic.")] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="When: 2026-01-05T10:00Z. Else now.")
    ] = None,
    author: Annotated[str, typer.Option("--author", help="Who.")] = "",
) -> None:
    """Mark a deployment: charts, incidents and messages show it among what changed."""
    settings = _settings(config)
    with _one_line():
        made = deploy_mark(
            text,
            clusters=[one.name for one in settings.clusters],
            now=datetime.now(UTC),
            cluster=cluster,
            group=group,
            topic=topic,
            at=at,
            author=author,
        )
        write_mark(Lake(settings.lake), made)
        print(f"{made.at:%Y-%m-%dT%H:%M:%SZ} {made.cluster}: deploy {made.text}")


@app.command("test-notify")
def test_notify(
    config: ConfigOption,
    target: Annotated[
        list[str] | None, typer.Option("--target", help="Only this target; may be repeated.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Send a sample to every target and print what came back.

    Exit status: 0 all took it, 1 one did not, 2 the configuration is wrong.
    """
    _quiet()
    settings = _settings(config)
    with _one_line():
        took = test_notify_command(settings, target or [], as_json)
    raise typer.Exit(0 if took else 1)


@app.command()
def replay(
    config: ConfigOption,
    first: Annotated[str, typer.Option("--from", help="First moment: 2026-01-05T10:00Z.")],
    last: Annotated[str, typer.Option("--to", help="Last moment.")],
    rules: RulesOption = None,
    cluster: Annotated[str | None, typer.Option("--cluster", help="Only this cluster.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Run the rules over the lake's history: what would have fired, when, and for how long."""
    settings = _settings(config)
    with _one_line():
        replay_command(
            settings,
            load_rules(rules or settings.alerting.rules),
            parse_moment(first),
            parse_moment(last),
            only=cluster,
            as_json=as_json,
        )


@app.command("test")
def test_rules(
    file: Annotated[
        Path, typer.Argument(help="Series in, expected alerts out: docs/operations.md.")
    ],
) -> None:
    """Run unit tests of rules.

    Exit status: 0 all passed, 1 one failed, 2 the file cannot be used.
    """
    with _one_line():
        passed = test_command(file)
    raise typer.Exit(0 if passed else 1)


def _quiet() -> None:
    """Keep libraries from logging: their lines hold addresses, and those hold secrets."""
    for name in ("httpx", "httpcore", "apprise"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
        logging.getLogger(name).propagate = False


def _settings(path: Path) -> Settings:
    try:
        return load(path)
    except ConfigError as error:
        _end(str(error), BAD_CONFIGURATION)


@contextmanager
def _state(settings: Settings) -> Iterator[AlertStore]:
    store = read_state(settings) or AlertStore.of_copy(None)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn what can go wrong into one clear line and an exit status."""
    try:
        yield
    except ConfigError as error:
        _end(str(error), BAD_CONFIGURATION)
    # OverflowError: a number beyond SQLite's.
    except (AlertingError, LakeError, ValueError, OverflowError) as error:
        _end(str(error), 1)


def _end(message: str, code: int) -> NoReturn:
    print(*map(visible, message.splitlines()), sep="\n", file=sys.stderr)
    raise typer.Exit(code)


if __name__ == "__main__":
    app()
