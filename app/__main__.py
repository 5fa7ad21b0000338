"""``python -m app``: the dashboard, with Streamlit's settings taken from our configuration."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from config.app import AuthSettings
from config.errors import ConfigError
from config.load import CONFIG_VARIABLE, load

SERVER = Path(__file__).with_name("server.py")
BAD_CONFIGURATION = 2

cli = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@cli.command()
def run(
    config: Annotated[Path, typer.Option(help="the configuration file")],
    port: Annotated[int | None, typer.Option(help="instead of app.port")] = None,
    address: Annotated[str | None, typer.Option(help="instead of app.address")] = None,
) -> None:
    """Serve the dashboard until it is stopped.

    Exit status: 2 the configuration is wrong, or it would serve other machines without login.
    """
    try:
        own = load(config).app
        address = address or own.address
        if (refused := own.refusal(address)) is not None:
            raise ConfigError(refused)
    except ConfigError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(BAD_CONFIGURATION) from None
    if own.is_open(address):
        print(
            f"WARNING: no login: whoever reaches {address}:{port or own.port} sees everything and "
            "may silence every alert (app.allow_anonymous)",
            file=sys.stderr,
            flush=True,
        )
    options = [
        f"--server.port={port or own.port}",
        f"--server.address={address}",
        *(f"--server.allowedHosts={host}" for host in own.allowed_hosts),
        # Else Streamlit asks a server on the internet for the address of this machine.
        "--browser.serverAddress=localhost",
    ]
    if own.auth is not None:
        options.append(f"--secrets.files={_secrets_file(own.auth)}")
    environment = {
        **os.environ,
        CONFIG_VARIABLE: str(config.absolute()),
        "PYTHONPATH": str(SERVER.parents[1]),
    }
    command = [sys.executable, "-m", "streamlit", "run", str(SERVER), *options]
    os.execve(sys.executable, command, environment)  # noqa: S606 (there is no shell)


def _secrets_file(auth: AuthSettings) -> str:
    """Write Streamlit's secrets where this process alone finds them, and return the path.

    The file itself has no name: it is open in this process and in what it becomes, and gone with
    it. Streamlit wants a name that ends in .toml: a link to the open file.
    """
    file = tempfile.TemporaryFile()
    number = os.dup(file.fileno())
    os.set_inheritable(number, True)
    lines = ["[auth]", *(f"{key} = {_toml(value)}" for key, value in auth.streamlit().items())]
    lines += ["[auth.client_kwargs]", f"scope = {_toml(auth.scope)}"]
    os.write(number, "\n".join(lines).encode())
    os.lseek(number, 0, os.SEEK_SET)
    link = Path(tempfile.mkdtemp(prefix="headroom-")) / "secrets.toml"
    link.symlink_to(f"/dev/fd/{number}")
    return str(link)


def _toml(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


if __name__ == "__main__":
    cli()
