"""Set-up and running of all services: ``python -m runtime --help``."""

from __future__ import annotations

import signal
import tempfile
import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from runtime.errors import RuntimeSetupError
from runtime.jars import IvyResolver, ensure_all
from runtime.jarsets import DELTA, KAFKA, S3, JarSet
from runtime.java import Java, find_java
from runtime.processes import ProcessGroup, require_port
from runtime.services import Supervisor, dashboard_answers, services

cli = typer.Typer(
    help="Sets up what Headroom needs from this machine, and runs its services.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_out = Console(highlight=False)
_err = Console(stderr=True, highlight=False)


@cli.command()
def setup(
    with_kafka: Annotated[
        bool, typer.Option("--with-kafka", help="also what the demo's brokers need")
    ] = False,
    with_s3: Annotated[
        bool, typer.Option("--with-s3", help="also what Spark needs for a lake in S3")
    ] = False,
    config: Annotated[
        Path | None, typer.Option(help="accepted as everywhere; the set-up needs nothing of it")
    ] = None,
) -> None:
    """Find Java and download the jars that are missing; fast when all is there."""
    del config
    try:
        java = find_java(on_progress=_out.print)
        _out.print(f"Java {java.major} from {java.source}: {java.executable}", soft_wrap=True)
        further = {KAFKA: with_kafka, S3: with_s3}
        _resolve_all((DELTA, *(jars for jars, wanted in further.items() if wanted)), java)
    except RuntimeSetupError as error:
        _fail(error)


@cli.command()
def run(
    config: Annotated[Path, typer.Option(help="the configuration file")],
    port: Annotated[int | None, typer.Option(help="the dashboard's, instead of app.port")] = None,
    logs: Annotated[
        Path | None, typer.Option(help="folder for the services' logs; beside the lake by default")
    ] = None,
    no_dashboard: Annotated[bool, typer.Option("--no-dashboard", help="collect only")] = False,
) -> None:
    """Run collectors, alerting, Spark rollups and dashboard until Ctrl-C or SIGTERM.

    A service that ends is started again, for as long as it takes; the others go on. Exit status:
    0 after a signal, 1 something that is needed is missing, 2 the configuration is wrong.
    """
    # Here and not above: the set-up also runs where the configuration's packages are not yet.
    from config.errors import ConfigError
    from config.load import load

    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    try:
        settings = load(config)
        port = port or settings.app.port
        address = settings.app.address
        if not no_dashboard:
            if (refused := settings.app.refusal(address)) is not None:
                raise ConfigError(refused)
            require_port(port, option="--port or app.port")
        java = find_java(on_progress=_out.print)
        lake = settings.lake
        _resolve_all((DELTA, S3) if lake.uri.startswith(("s3://", "s3a://")) else (DELTA,), java)
        folder = logs or (Path(lake.uri).parent / "logs" if lake.is_local else _temporary_logs())
        with ProcessGroup() as processes:
            supervisor = Supervisor(processes, folder, _err.print)
            wanted = services(config, java, port=port, address=address, dashboard=not no_dashboard)
            supervisor.start_all(wanted)
            _out.print(f"collecting from {len(settings.clusters)} cluster(s); logs in {folder}")
            announced = no_dashboard
            while not ended.wait(1.0):
                supervisor.check()
                if not announced and dashboard_answers(port):
                    _out.print(f"dashboard: http://localhost:{port}   (Ctrl-C ends everything)")
                    announced = True
            _out.print("stopping")
    except (RuntimeSetupError, ConfigError) as error:
        _fail(error)


def _resolve_all(wanted: tuple[JarSet, ...], java: Java) -> None:
    with _out.status("checking the jars of " + " and ".join(jars.name for jars in wanted)):
        ensure_all(wanted, IvyResolver(java), _out.print)


def _temporary_logs() -> Path:
    return Path(tempfile.mkdtemp(prefix="headroom-logs-"))


def _fail(error: Exception) -> None:
    _err.print(str(error), style="red", markup=False, soft_wrap=True)
    raise typer.Exit(2 if type(error).__name__ == "ConfigError" else 1)


if __name__ == "__main__":
    cli()
