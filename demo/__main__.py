"""The demo's commands: ``python -m demo --help``."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from demo.errors import DemoError
from demo.kafka.class_archive import ensure_class_archive
from demo.running import Options, RunningDemo, Stopwatch
from demo.state import Answer, DataFolder, Request
from runtime.errors import RuntimeSetupError
from runtime.jars import IvyResolver, ensure_all
from runtime.jarsets import DELTA, KAFKA
from runtime.java import find_java
from runtime.processes import require_port
from runtime.services import wait_for_dashboard

cli = typer.Typer(
    help="A real Kafka cluster with known workloads, and Headroom watching it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
fault_cli = typer.Typer(help="Break something in the running demo, or put it right.")
cli.add_typer(fault_cli, name="fault", no_args_is_help=True)
_out = Console(highlight=False, soft_wrap=True)
_err = Console(stderr=True, highlight=False, soft_wrap=True)

DataOption = Annotated[Path, typer.Option("--data", help="the demo's folder")]
BrokerArgument = Annotated[int, typer.Argument(help="the broker's number, from 1", min=1)]
GroupArgument = Annotated[str, typer.Argument(help="the consumer group's name")]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="accepted as everywhere; the demo writes its own", hidden=True),
]
_DEFAULT_DATA = Path(".demo")


class _Ended(BaseException):
    """The user, or whoever started the demo, wants it to end."""


@cli.command()
def up(
    data: DataOption = _DEFAULT_DATA,
    port: Annotated[int, typer.Option(help="the dashboard's port", min=1, max=65535)] = 8501,
    kafka_port: Annotated[
        int | None,
        typer.Option(help="the first broker's port, the others follow; free ones by default"),
    ] = None,
    brokers: Annotated[int, typer.Option(help="how many brokers", min=1, max=9)] = 3,
    no_dashboard: Annotated[
        bool, typer.Option("--no-dashboard", help="all but the dashboard")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="keep Kafka's data and go on with it next time")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Start everything; Ctrl-C or SIGTERM ends everything."""
    del config
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _end)
    folder = DataFolder(data)
    kafka_ports = tuple(range(kafka_port, kafka_port + brokers)) if kafka_port else ()
    options = Options(
        port=port,
        kafka_ports=kafka_ports,
        brokers=brokers,
        dashboard=not no_dashboard,
        keep=keep,
    )
    try:
        folder.take()
        try:
            _run(folder, options)
        finally:
            folder.release()
    except RuntimeSetupError as error:
        _fail(str(error))
    except _Ended:
        _out.print("ended")


def _run(folder: DataFolder, options: Options) -> None:
    watch = Stopwatch()
    if options.dashboard:
        require_port(options.port, option="--port (make demo PORT=…)")
    for each in options.kafka_ports:
        require_port(each, option="--kafka-port")
    with _step("Java and jars"):
        java = find_java(on_progress=_out.print)
        ensure_all((DELTA, KAFKA), IvyResolver(java), _out.print)
    with _step("Kafka's classes"):
        ensure_class_archive(java)
    demo = RunningDemo(folder, options, java, _say)
    try:
        with _step(f"{options.brokers} Kafka brokers"):
            demo.start_brokers()
        demo.write_config()
        demo.start_generated_history()
        with _step("topics, producers, consumers"):
            demo.start_workload()
            demo.start_services("collectors", "dashboard")
            demo.wait_for_workload()
        demo.start_services("alerting")
        if options.dashboard:
            with _step("dashboard"):
                wait_for_dashboard(demo.supervisor.child("dashboard"), options.port)
            _out.print(f"[bold]dashboard: http://localhost:{options.port}[/bold]")
        with _step("first lag"):
            lag = demo.wait_for_first_lag()
        _out.print(f"first lag in the lake after {watch.seconds:.0f} s: {lag} messages")
        with _step("generated history"):
            demo.wait_for_generated_history()
        demo.start_services("spark")
        _out.print(f"Kafka: {demo.cluster.bootstrap_servers}")
        _out.print(demo.start_connect())
        _out.print(demo.start_rabbitmq())
        _out.print(f"logs: {folder.logs}   break something: python -m demo fault --help")
        _out.print("Ctrl-C ends everything")
        while True:
            demo.look_after()
            time.sleep(0.2)
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # the end is on its way already
        with _step("ending everything"):
            demo.close()


@cli.command()
def status(
    data: DataOption = _DEFAULT_DATA,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    config: ConfigOption = None,
) -> None:
    """Show what of the running demo runs."""
    del config
    details = _ask(data, Request(action="status")).details or {}
    if as_json:
        typer.echo(json.dumps(details))
        return
    _out.print(f"dashboard: {details['dashboard'] or 'not started'}")
    _out.print(f"Kafka: {details['bootstrap_servers']}")
    _out.print(f"configuration: {details['config']}")
    table = Table("broker", "state", "port", "process")
    for broker in details["brokers"]:
        table.add_row(*(str(broker[key] or "") for key in ("broker", "state", "port", "process")))
    _out.print(table)
    groups = Table("consumer group", "consumers", "")
    for name, count in details["consumers"].items():
        stopped = "stopped by a fault" if name in details["stopped_groups"] else ""
        groups.add_row(name, str(count), stopped)
    _out.print(groups)


def _broker_fault(action: str, what: str) -> None:
    def command(broker: BrokerArgument, data: DataOption = _DEFAULT_DATA) -> None:
        _act(data, Request(action=action, broker=broker))

    fault_cli.command(action, help=what)(command)


def _group_fault(action: str, what: str) -> None:
    def command(group: GroupArgument, data: DataOption = _DEFAULT_DATA) -> None:
        _act(data, Request(action=action, group=group))

    fault_cli.command(action, help=what)(command)


_broker_fault("kill-broker", "Crash a broker (SIGKILL).")
_broker_fault("stop-broker", "Shut a broker down in order (SIGTERM).")
_broker_fault(
    "freeze-broker", "Freeze a broker (SIGSTOP): connections stay open, nothing is answered."
)
_broker_fault("thaw-broker", "Let a frozen broker go on (SIGCONT).")
_group_fault("stop-consumers", "Let all consumers of a group leave it.")
_group_fault("start-consumers", "Let the consumers of a stopped group come back.")


@fault_cli.command()
def restore(data: DataOption = _DEFAULT_DATA) -> None:
    """Undo all faults: start, thaw, bring back."""
    _act(data, Request(action="restore"))


def _act(data: Path, request: Request) -> None:
    with _err.status(f"{request.action} …"):
        answer = _ask(data, request)
    _out.print(answer.message, markup=False)


def _ask(data: Path, request: Request) -> Answer:
    try:
        answer = DataFolder(data).ask(request)
    except DemoError as error:
        _fail(str(error))
    if not answer.done:
        _fail(answer.message)
    return answer


@contextmanager
def _step(name: str) -> Iterator[None]:
    """Show that something is going on, and how long it took."""
    watch = Stopwatch()
    with _out.status(f"{name} …"):
        yield
    _out.print(f"{name:<32}{watch.seconds:6.1f} s")


def _say(message: str) -> None:
    _err.print(message, markup=False)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise _Ended


def _fail(message: str) -> NoReturn:
    _err.print(message, style="red", markup=False)
    raise typer.Exit(1)


if __name__ == "__main__":
    cli()
