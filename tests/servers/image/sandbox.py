"""Runs a Dockerfile without an engine: in mount namespaces, over folders of a test.

The base image is stood in for by this machine with an empty /usr/local that holds a virtual
environment of this Python. What is not part of the image's tree is hidden or read-only.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

PYTHON_AT = "/srv"
"""Where this Python's own installation is seen inside: the user may not enter root's home."""

_WRITABLE_AT_BUILD = {"usr-local": "/usr/local", "opt": "/opt", "etc": "/etc", "home": "/home"}
_WRITABLE_AT_BUILD |= {"var-lib": "/var/lib", "tmp": "/tmp"}  # noqa: S108 (inside)
_KEPT = ("PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "HEADROOM_IVY_SETTINGS")


@dataclass
class Sandbox:
    """The image's tree under a folder, and what the Dockerfile has said so far."""

    folder: Path
    context: Path
    environment: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    workdir: str = "/"
    user: str = "0"
    volumes: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    healthcheck: list[str] = field(default_factory=list)

    def build(self, dockerfile: Path) -> None:
        """Do every instruction; one that is not known is an error."""
        for name in _WRITABLE_AT_BUILD:
            (self.folder / name).mkdir(parents=True)
        shutil.copytree("/etc", self.folder / "etc", symlinks=True, dirs_exist_ok=True)
        self.root_runs([f"{PYTHON_AT}/bin/python3", "-m", "venv", "/usr/local"])
        for word, rest in instructions(dockerfile.read_text(encoding="utf-8")):
            getattr(self, f"_{word.lower()}")(rest)

    def _from(self, rest: str) -> None:
        assert re.fullmatch(r"python:3\.11-slim-bookworm(@sha256:[0-9a-f]{64})?", rest)

    def _env(self, rest: str) -> None:
        self.environment.update(each.split("=", 1) for each in shlex.split(rest))

    def _arg(self, rest: str) -> None:
        name, _, value = rest.partition("=")
        self.arguments[name] = value

    def _workdir(self, rest: str) -> None:
        self.workdir = rest
        self._inside(rest).mkdir(parents=True, exist_ok=True)

    def _copy(self, rest: str) -> None:
        *sources, target = rest.split()
        for source in sources:
            origin = self.context / source
            place = self._inside(f"{self.workdir}/{target}")
            if origin.is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(origin, place, dirs_exist_ok=True, ignore=ignored)
            else:
                shutil.copy(origin, place)

    def _run(self, rest: str) -> None:
        assert self.user == "0"
        self.root_runs(["/bin/sh", "-c", rest], self.arguments)

    def _user(self, rest: str) -> None:
        self.user = rest

    def _volume(self, rest: str) -> None:
        self.volumes.append(rest)

    def _expose(self, rest: str) -> None:
        assert rest.isdigit()

    def _healthcheck(self, rest: str) -> None:
        self.healthcheck = json.loads(rest.partition("CMD ")[2])

    def _cmd(self, rest: str) -> None:
        self.command = json.loads(rest)

    def _inside(self, path: str) -> Path:
        for name, place in _WRITABLE_AT_BUILD.items():
            if path.startswith(f"{place}/"):
                return self.folder / name / path.removeprefix(f"{place}/")
        raise AssertionError(f"the image writes to {path}")

    def root_runs(self, command: list[str], further: dict[str, str] | None = None) -> None:
        """Run a step of the build as root, with the image's folders writable."""
        done = subprocess.run(
            self._namespace([], command),
            env={**self._variables(), "PIP_CACHE_DIR": "/nowhere", **(further or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"

    def user_command(self, command: list[str]) -> tuple[list[str], dict[str, str]]:
        """Return how the image's user runs a command: only volumes and /tmp can be written."""
        limits = [
            *("setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"),
            *("--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"),
        ]
        writable = [_WRITABLE_AT_BUILD["tmp"], *self.volumes]
        return self._namespace(writable, [*limits, *command]), self._variables()

    def _variables(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        kept |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        kept["PATH"] = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        return {**kept, "LD_LIBRARY_PATH": f"{PYTHON_AT}/lib", "HOME": "/", **self.environment}

    def _namespace(self, writable: list[str], command: list[str]) -> list[str]:
        """Return a command in a mount namespace; without ``writable`` that of the build."""
        lines = [
            "set -e",
            "mount --make-rprivate /",
            # The base image has no Java.
            "if [ -d /usr/lib/jvm ]; then mount -t tmpfs none /usr/lib/jvm; fi",
            f"mount --bind {shlex.quote(sys.base_prefix)} {PYTHON_AT}",
        ]
        places = dict(_WRITABLE_AT_BUILD)
        temporary = places.pop("tmp")  # last: the folders to bind lie in it
        for name, place in {**places, "tmp": temporary}.items():
            lines.append(f"mount --bind {shlex.quote(str(self.folder / name))} {place}")
        if writable:
            for place in writable:
                lines.append(f"mount --bind {place} {place}")
            lines.append("mount -o remount,ro,bind /")
            for place in {*_WRITABLE_AT_BUILD.values(), PYTHON_AT} - set(writable):
                lines.append(f"mount -o remount,ro,bind {place}")
            lines.append("mount -t tmpfs -o mode=0 none /root")
        lines += [f"cd {self.workdir}", 'exec "$@"']
        return ["unshare", "--mount", "/bin/sh", "-c", "\n".join(lines), "sh", *command]


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile, each on one line."""
    plain = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", plain).splitlines()
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines if line)]
