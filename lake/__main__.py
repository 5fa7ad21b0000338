"""``python -m lake``: backup and restore of the lake and of the state of alerts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from config.errors import ConfigError
from config.load import load
from config.settings import Settings
from lake.errors import LakeError
from lake.maintenance import backup as copies

app = typer.Typer(
    help="Copies the lake and the state of alerts, and puts them back.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_err = Console(stderr=True, highlight=False)

ConfigOption = Annotated[Path, typer.Option("--config", help="The configuration file.")]


@app.command()
def backup(
    config: ConfigOption, to: Annotated[Path, typer.Option("--to", help="A new folder.")]
) -> None:
    """Copy lake and state while the services run.

    Exit status: 0 done, 1 it failed, 2 the configuration is wrong.
    """
    _work(config, "copying", lambda settings, say: copies.backup(settings, to, say))


@app.command()
def restore(
    config: ConfigOption,
    origin: Annotated[Path, typer.Option("--from", help="The folder of a backup.")],
) -> None:
    """Put a backup where the configuration wants lake and state; both must be empty.

    Stop the services before. Exit status: 0 done, 1 it failed, 2 the configuration is wrong.
    """
    _work(config, "restoring", lambda settings, say: copies.restore(settings, origin, say))


def _work(
    config: Path, doing: str, work: Callable[[Settings, Callable[[str], None]], copies.Copied]
) -> None:
    try:
        settings = load(config)
        with _err.status(doing) as status:
            done = work(settings, lambda what: status.update(f"{doing} {what}"))
    except (ConfigError, LakeError) as error:
        _err.print(str(error), style="red", markup=False, soft_wrap=True)
        raise typer.Exit(2 if isinstance(error, ConfigError) else 1) from None
    state = "with" if done.state else "without"
    _err.print(
        f"{done.files} files, {done.size_bytes / 1e6:.1f} MB, {state} a file of alerts' state"
    )


if __name__ == "__main__":
    app(prog_name="python -m lake")
