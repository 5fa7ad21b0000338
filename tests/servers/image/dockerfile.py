"""A Dockerfile as a list of steps, and which files .dockerignore lets a build see.

It reads what the project's Dockerfile uses and refuses everything else: a step that nobody carries
out would be one that no test has seen.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

KNOWN = {
    *("FROM", "ENV", "WORKDIR", "COPY", "ARG", "RUN", "USER", "VOLUME", "EXPOSE"),
    *("HEALTHCHECK", "CMD"),
}


class DockerfileError(Exception):
    """A build would fail, or these functions do not know how it goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One instruction: its name in capital letters, and the rest of it on one line."""

    name: str
    text: str


def steps(content: str) -> list[Step]:
    """Return the instructions of a Dockerfile in their order.

    Raises:
        DockerfileError: There is one that is not known here.
    """
    lines = (line for line in content.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    found = []
    for line in filter(None, map(str.strip, joined.splitlines())):
        name, _, text = line.partition(" ")
        if name not in KNOWN:
            raise DockerfileError(f"unknown instruction: {line}")
        if name not in ("RUN", "CMD", "HEALTHCHECK") and "$" in text:
            raise DockerfileError(f"variables are replaced in commands alone: {line}")
        found.append(Step(name=name, text=text.strip()))
    return found


def assignments(text: str) -> dict[str, str]:
    """Return the variables of an ENV or ARG; an ARG without a default is empty."""
    pairs = (word.partition("=") for word in shlex.split(text))
    return {name: value for name, _, value in pairs}


def command(text: str) -> list[str]:
    """Return the words of a command in either form."""
    return [str(word) for word in json.loads(text)] if text.startswith("[") else shell(text)


def shell(text: str) -> list[str]:
    """Return a command in the form for the shell."""
    return ["/bin/sh", "-c", text]


def health_command(text: str) -> list[str]:
    """Return the command of a HEALTHCHECK; its times are a matter of the engine."""
    options, found, words = text.partition("CMD ")
    if not found or not all(re.fullmatch(r"--[a-z-]+=\w+", each) for each in options.split()):
        raise DockerfileError(f"unknown health check: {text}")
    return command(words.strip())


def copies(text: str, context: Path, working: Path) -> Iterator[tuple[Path, Path]]:
    """Yield what a COPY takes from the context, and where it puts it in the image.

    Raises:
        DockerfileError: A source is not there, or .dockerignore keeps it away.
    """
    *sources, target = text.split()
    if not sources or any(word.startswith("--") for word in sources):
        raise DockerfileError(f"unknown kind of copy: {text}")
    patterns = (context / ".dockerignore").read_text(encoding="utf-8").splitlines()
    into = working / target
    for source in sources:
        origin = context / source
        files = [origin] if origin.is_file() else sorted(origin.rglob("*"))
        seen = [
            file
            for file in files
            if file.is_file() and not is_ignored(file.relative_to(context), patterns)
        ]
        if not seen:
            raise DockerfileError(f"COPY {source}: not found, or kept away by .dockerignore")
        folder = target.endswith("/") or len(sources) > 1
        for file in seen:
            inside = file.relative_to(origin) if origin.is_dir() else Path(file.name)
            yield file, into / inside if origin.is_dir() or folder else into


def is_ignored(path: Path, patterns: Sequence[str]) -> bool:
    """Return whether .dockerignore keeps a file away: the last pattern that fits it decides."""
    ignored = False
    parents = [str(each) for each in (path, *path.parents)][:-1]
    for line in map(str.strip, patterns):
        if not line or line.startswith("#"):
            continue
        pattern = _expression(line.removeprefix("!").strip("/"))
        if any(pattern.fullmatch(each) for each in parents):
            ignored = not line.startswith("!")
    return ignored


def _expression(pattern: str) -> re.Pattern[str]:
    """Turn a pattern of Docker's into an expression for the whole of a path."""
    meanings = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    words = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(meanings.get(word, re.escape(word)) for word in words))
