"""The command ``headroom``, which is also ``python -m runtime``: set up, try, run, look."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from runtime import heartbeat
from runtime.errors import RuntimeSetupError
from runtime.first_config import (
    PASSWORD_VARIABLE,
    Answers,
    Mechanism,
    Security,
    Trial,
    try_it,
)
from runtime.imports import burrow, kafka_lag_exporter, kminion
from runtime.jars import IvyResolver, downloaded_jars, ensure_all
from runtime.jarsets import DELTA, KAFKA, S3, JarSet
from runtime.java import Java, find_java
from runtime.processes import ProcessGroup, require_port
from runtime.sbom import document
from runtime.services import ROOT, Supervisor, dashboard_answers, services

cli = typer.Typer(
    help="Sets up what Headroom needs from this machine, and runs its services.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
ConfigOption = Annotated[
    Path, typer.Option("--config", envvar="HEADROOM_CONFIG", help="the configuration file")
]
_FILE = Path("headroom.yaml")
_PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
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
def sbom(
    output: Annotated[Path | None, typer.Option(help="a file instead of standard output")] = None,
) -> None:
    """Print what is installed, packages and jars with their licences, as CycloneDX JSON."""
    text = json.dumps(document(downloaded_jars()), indent=1) + "\n"
    if output is None:
        print(text, end="")
    else:
        output.write_text(text, encoding="utf-8")


@cli.command()
def run(
    config: ConfigOption = _FILE,
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

    heartbeat.start()
    os.environ.pop(heartbeat.VARIABLE, None)  # of this process, not of its services
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


@cli.command()
def init(
    bootstrap_servers: Annotated[
        str, typer.Option(prompt="Bootstrap servers (host:port, separated by commas)")
    ],
    security: Annotated[
        Security, typer.Option(prompt="Security protocol", case_sensitive=False)
    ] = Security.PLAINTEXT,
    name: Annotated[str, typer.Option(prompt="Name of the cluster")] = "production",
    mechanism: Annotated[Mechanism | None, typer.Option(case_sensitive=False)] = None,
    username: Annotated[str | None, typer.Option(help="for SASL")] = None,
    ca_file: Annotated[
        Path | None, typer.Option(help="certificates to trust (PEM), if not the system's")
    ] = None,
    output: Annotated[Path, typer.Option(help="the file to write")] = _FILE,
    force: Annotated[bool, typer.Option("--force", help="replace the file")] = False,
) -> None:
    """Ask how a cluster is reached, try it, and write a first configuration.

    What is not given as an option is asked for. The password is read from the variable
    KAFKA_PASSWORD or asked for, and written nowhere. Rights that are missing are printed as lines
    of kafka-acls.sh. Exit status: 0 the file is written, 1 the cluster does not answer, 2 an answer
    is wrong; then nothing is written.
    """
    if output.exists() and not force:
        _end(f"{output} is there already: --force replaces it, --output writes another", 2)
    environment = dict(os.environ)
    if security.has_login:
        mechanism = mechanism or typer.prompt(
            "SASL mechanism", default=Mechanism.SCRAM_SHA_512, type=Mechanism
        )
        username = username or typer.prompt("User name")
        if not environment.get(PASSWORD_VARIABLE):
            environment[PASSWORD_VARIABLE] = typer.prompt("Password", hide_input=True)
    answers = Answers(
        name=name,
        bootstrap_servers=bootstrap_servers,
        security=security,
        mechanism=mechanism or Mechanism.SCRAM_SHA_512,
        username=username,
        ca_file=ca_file,
    )
    try:
        with _out.status(f"trying {bootstrap_servers}"):
            trial = try_it(answers.as_yaml(), environment)
    except RuntimeSetupError as error:
        _end(str(error), 2)
    if not trial.connected:
        _end(f"{trial.summary}; nothing was written", 1)
    output.write_text(answers.as_yaml(), encoding="utf-8")
    _show(trial)
    _say(f"{output} is written; config/example.yaml documents every further key")
    if security.has_login:
        _say(f"set {PASSWORD_VARIABLE} wherever it is used, or name a file: {{file: PATH}}")
    _say(f"next: headroom run --config {output}")


def _show(trial: Trial) -> None:
    _say(f"connected: {trial.summary}")
    for line in trial.wrong:
        _say(f"does not work: {line}")
    if trial.grants:
        _say("rights that are missing, for an administrator to grant:")
        for line in trial.grants:
            _say(f"  {line}")


class Tool(StrEnum):
    """Whose configuration is imported."""

    BURROW = "burrow"
    KAFKA_LAG_EXPORTER = "kafka-lag-exporter"
    KMINION = "kminion"


@cli.command("import")
def import_configuration(
    tool: Tool,
    file: Annotated[Path, typer.Argument(help="its configuration file")],
    output: Annotated[Path | None, typer.Option(help="a file instead of standard output")] = None,
) -> None:
    """Turn the configuration of another tool into ours.

    What could not be taken over is listed on standard error. Exit status: 0 done, 1 the file cannot
    be read or understood, or there is one at --output.
    """
    readers = {
        Tool.BURROW: burrow.read,
        Tool.KAFKA_LAG_EXPORTER: kafka_lag_exporter.read,
        Tool.KMINION: kminion.read,
    }
    if output is not None and output.exists():
        _end(f"{output} is there already: choose another --output", 1)
    try:
        found = readers[tool](file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        _end(f"{file} cannot be read: {error}", 1)
    except RuntimeSetupError as error:
        _end(f"{file}: {error}", 1)
    if output is None:
        print(found.as_yaml(), end="")
    else:
        output.write_text(found.as_yaml(), encoding="utf-8")
    for name, what in found.variables.items():
        _err.print(f"set {name}: {what}", markup=False, soft_wrap=True)
    for line in found.left_out:
        _err.print(f"not taken over: {line}", markup=False, soft_wrap=True)


@cli.command(context_settings=_PASSED_ON)
def check(context: typer.Context, config: ConfigOption = _FILE) -> None:
    """Try each feature of each source, as ``python -m collectors check`` does."""
    _pass_on(["collectors", "check"], config, context.args)


@cli.command(context_settings=_PASSED_ON)
def status(context: typer.Context, config: ConfigOption = _FILE) -> None:
    """Print what fires, as ``python -m alerting status`` does."""
    _pass_on(["alerting", "status"], config, context.args)


@cli.command(context_settings=_PASSED_ON)
def backup(context: typer.Context, config: ConfigOption = _FILE) -> None:
    """Copy lake and state into a folder while the services run: --to FOLDER."""
    _pass_on(["lake", "backup"], config, context.args)


@cli.command(context_settings=_PASSED_ON)
def restore(context: typer.Context, config: ConfigOption = _FILE) -> None:
    """Put a backup where lake and state belong: --from FOLDER."""
    _pass_on(["lake", "restore"], config, context.args)


def _pass_on(command: list[str], config: Path, further: list[str]) -> None:
    answer = subprocess.run(  # noqa: S603 (this program; the words are those of who called it)
        [sys.executable, "-m", *command, "--config", str(config), *further],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    raise typer.Exit(answer.returncode)


def _say(text: str) -> None:
    _out.print(text, markup=False, soft_wrap=True)


def _resolve_all(wanted: tuple[JarSet, ...], java: Java) -> None:
    with _out.status("checking the jars of " + " and ".join(jars.name for jars in wanted)):
        ensure_all(wanted, IvyResolver(java), _out.print)


def _temporary_logs() -> Path:
    return Path(tempfile.mkdtemp(prefix="headroom-logs-"))


def _fail(error: Exception) -> None:
    _end(str(error), 2 if type(error).__name__ == "ConfigError" else 1)


def _end(message: str, exit_status: int) -> NoReturn:
    _err.print(message, style="red", markup=False, soft_wrap=True)
    raise typer.Exit(exit_status)


if __name__ == "__main__":
    cli()
