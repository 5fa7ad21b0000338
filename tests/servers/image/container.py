"""What a container engine does with an image, done with namespaces and overlays: needs root.

The image is a folder in memory that one mount namespace sees. Programs of the base image are those
of this machine: ``/usr`` and ``/etc`` lie under an overlay, which takes every change, and a virtual
environment of Debian's Python 3.11 comes first on the PATH, where ``python:3.11-slim-bookworm`` has
its Python. Nothing else of this machine is in it: no home, no cache, no checkout, no Java. The
network is the machine's.
"""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.servers.image import dockerfile
from tests.servers.image.dockerfile import DockerfileError, Step
from tests.support import unavailable

BASE = "python:3.11-slim-bookworm"
_PYTHON = "/usr/bin/python3.11"
_BASE_PATH = "/opt/base/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_TOOLS = ("unshare", "nsenter", "mount", "setpriv", "chroot")
_LAYERS = ("usr", "etc")

_MAKE = """
set -eu
space=$1; shift
mount -t tmpfs -o mode=755 tmpfs "$space"
mkdir "$space/root"; cd "$space/root"
mkdir -p dev/shm proc sys tmp root home opt run srv var/lib var/log var/mail var/tmp
chmod 1777 tmp var/tmp
ln -s usr/bin bin; ln -s usr/sbin sbin; ln -s usr/lib lib
[ ! -e /usr/lib64 ] || ln -s usr/lib64 lib64
mount --bind "$space/root" "$space/root"; cd "$space/root"
for layer in usr etc; do
    mkdir -p "$layer" "$space/$layer/upper" "$space/$layer/work"
    mount -t overlay -o "lowerdir=/$layer,upperdir=$space/$layer/upper,workdir=$space/$layer/work" \
        overlay "$layer"
done
[ ! -d usr/lib/jvm ] || mount -t tmpfs tmpfs usr/lib/jvm
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom; do
    touch "dev/$device"; mount --bind "/dev/$device" "dev/$device"
done
ln -s /proc/self/fd dev/fd
for folder in "$@"; do  # packages that this machine keeps in a folder
    mkdir -p ".$folder"; mount --bind "$folder" ".$folder"; mount -o remount,bind,ro ".$folder"
done
echo ready
exec cat
"""

_READ_ONLY = """
set -eu
cd "$1"; kept=$2; shift 2
for each in . usr etc dev; do mount -o remount,bind,ro "$each"; done
mount -t tmpfs -o mode=1777 tmpfs tmp
for folder in "$@"; do  # a new volume gets owner and rights from the image
    mkdir -p "$kept$folder"
    chown --reference=".$folder" "$kept$folder"; chmod --reference=".$folder" "$kept$folder"
    mount --bind "$kept$folder" ".$folder"
done
"""


@dataclass(kw_only=True)
class Image:
    """An image while it is built, and its containers afterwards.

    Attributes:
        root: Its root folder, as its mount namespace has it.
        environment: Variables of ENV.
        volumes: Folders of VOLUME.
        health: The command of HEALTHCHECK.
        command: That of CMD.
    """

    space: Path
    holder: int
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": _BASE_PATH})
    working: str = "/"
    user: str = "0"
    volumes: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    _arguments: dict[str, str] = field(default_factory=dict)

    def path(self, inside: str) -> Path:
        """Return where this machine sees a path of the image."""
        return Path(f"/proc/{self.holder}/root{self.space}/root{inside}")

    def volume(self, inside: str) -> Path:
        """Return the folder of this machine that is a volume in the containers."""
        return Path(f"{self.space}-volumes{inside}")

    def build(self, content: str, context: Path, fetching: Mapping[str, str]) -> None:
        """Carry out a Dockerfile.

        Args:
            content: Of the Dockerfile.
            context: The folder that it copies from, with .dockerignore.
            fetching: Variables for its commands alone, as ``--build-arg`` gives them.

        Raises:
            DockerfileError: A step fails, with what it wrote last.
        """
        for step in dockerfile.steps(content):
            self._carry_out(step, context, fetching)

    def _carry_out(self, step: Step, context: Path, fetching: Mapping[str, str]) -> None:
        match step.name:
            case "FROM":
                if step.text != BASE:
                    raise DockerfileError(f"no stand-in for the base {step.text}")
                self._run([_PYTHON, "-m", "venv", "/opt/base"], {})
            case "ENV":
                self.environment |= dockerfile.assignments(step.text)
            case "ARG":
                self._arguments |= dockerfile.assignments(step.text)
            case "WORKDIR":
                self.working = step.text
                self._run(["mkdir", "-p", step.text], {}, working="/")
            case "COPY":
                for source, target in dockerfile.copies(step.text, context, Path(self.working)):
                    inside = self.path(str(target))
                    inside.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(source, inside)
            case "RUN":
                self._run(dockerfile.shell(step.text), {**fetching, **self._arguments})
            case "USER":
                self.user = step.text
            case "VOLUME":
                self.volumes.append(step.text)
                self.path(step.text).mkdir(parents=True, exist_ok=True)
            case "HEALTHCHECK":
                self.health = dockerfile.health_command(step.text)
            case "CMD":
                self.command = dockerfile.command(step.text)

    def _run(self, words: list[str], further: Mapping[str, str], working: str = "") -> None:
        done = self.execute(words, further, working=working or self.working)
        if done.returncode != 0:
            output = (done.stdout + done.stderr)[-3000:]
            raise DockerfileError(f"exit status {done.returncode}: {' '.join(words)}\n{output}")

    def freeze(self) -> None:
        """Make the root read-only; only /tmp and the volumes can be written from now on."""
        root, kept = str(self.space / "root"), str(self.volume(""))
        words = ["sh", "-c", _READ_ONLY, "sh", root, kept, *self.volumes]
        subprocess.run([*self._enter, *words], check=True)

    def words(
        self, command: Sequence[str], further: Mapping[str, str] | None = None, working: str = ""
    ) -> list[str]:
        """Return the words that run a command as the first process of a container."""
        group = self._group()
        variables = {"HOME": self._home(), **self.environment, **(further or {})}
        return [
            *(*self._enter, "chroot", str(self.space / "root")),
            *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
            *("setpriv", f"--reuid={self.user}", f"--regid={group}", "--clear-groups"),
            *(["--no-new-privs", "--bounding-set=-all"] if self.user != "0" else []),
            *("env", "-i", f"--chdir={working or self.working}"),
            *(f"{name}={value}" for name, value in variables.items()),
            *command,
        ]

    def execute(
        self, command: Sequence[str], further: Mapping[str, str] | None = None, working: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        words = self.words(command, further, working)
        pipe = subprocess.PIPE
        process = subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True)
        try:
            output, errors = process.communicate(timeout=800)
        finally:
            _kill(process)
        return subprocess.CompletedProcess(words, process.returncode, output, errors)

    @contextmanager
    def running(self, log: Path) -> Iterator[subprocess.Popen[bytes]]:
        """Run CMD; what is left of it at the end is killed."""
        with log.open("wb") as output:
            process = subprocess.Popen(
                self.words(self.command), stdout=output, stderr=subprocess.STDOUT
            )
        try:
            yield process
        finally:
            _kill(process)

    def files(self) -> dict[str, tuple[int, int]]:
        """Return size and time of change of every file that the build has made or changed."""
        base = Path(f"/proc/{self.holder}/root{self.space}")
        return {
            str(file.relative_to(base)): (file.lstat().st_size, file.lstat().st_mtime_ns)
            for layer in ("root", *(f"{layer}/upper" for layer in _LAYERS))
            for file in _walk(base / layer, {*self.volumes, *_ELSEWHERE})
        }

    @property
    def _enter(self) -> list[str]:
        return ["nsenter", f"--mount=/proc/{self.holder}/ns/mnt", "--"]

    def _entry(self) -> list[str]:
        for line in self.path("/etc/passwd").read_text().splitlines():
            entry = line.split(":")
            if self.user in (entry[0], entry[2]):
                return entry
        raise DockerfileError(f"USER {self.user}: the image does not know it")

    def _group(self) -> str:
        return self._entry()[3]

    def _home(self) -> str:
        return self._entry()[5]


_ELSEWHERE = ("/tmp", "/dev", "/proc", "/usr", "/etc")  # noqa: S108 (mounts of their own)


def _walk(folder: Path, without: set[str]) -> Iterator[Path]:
    for path, folders, files in os.walk(folder):
        inside = "/" + str(Path(path).relative_to(folder)).removeprefix(".")
        folders[:] = [name for name in folders if str(Path(inside, name)) not in without]
        yield from (Path(path, name) for name in (*files, *folders))


def first_processes(container: subprocess.Popen[Any]) -> list[int]:
    """Return the process of a container that its command is; nothing where it has ended."""
    if container.poll() is not None:
        return []
    listed = Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text()
    return [int(pid) for pid in listed.split()]


def _kill(container: subprocess.Popen[Any]) -> None:
    """End a container; with its first process the kernel ends all others.

    What unshare promises, to kill its child when it is killed, ends where the child changes its
    user.
    """
    for pid in first_processes(container) or [container.pid]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    container.wait()


def stop(container: subprocess.Popen[bytes], timeout_seconds: float) -> int:
    """Ask a container to end, as engines do, and return its exit status."""
    for pid in first_processes(container):
        os.kill(pid, signal.SIGTERM)
    return container.wait(timeout_seconds)


@contextmanager
def empty_image(space: Path) -> Iterator[Image]:
    """Give an image of nothing; a machine that cannot leaves the test out.

    Args:
        space: An empty folder, over which it is mounted.
    """
    if os.geteuid() != 0:
        unavailable("only root can mount the image's root folder")
    if missing := [tool for tool in _TOOLS if shutil.which(tool) is None]:
        unavailable(f"not installed: {', '.join(missing)}")
    if not Path(_PYTHON).is_file():
        unavailable(f"{_PYTHON} stands in for the base image's Python, and is not installed")
    unshare = ["unshare", "--mount", "--propagation", "private"]
    folders = [each for each in _pip().get("PIP_FIND_LINKS", "").split() if Path(each).is_dir()]
    holder = subprocess.Popen(  # ends with this process: it reads from it
        [*unshare, "sh", "-c", _MAKE, "sh", str(space), *folders],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stderr is not None
        if holder.stdout.readline() != b"ready\n":
            unavailable(f"no overlay in a mount namespace here: {holder.stderr.read().decode()}")
        yield Image(space=space, holder=holder.pid)
    finally:
        holder.kill()
        holder.communicate()


def build_variables() -> dict[str, str]:
    """Return what a build needs to fetch packages as this machine does: proxies, pip's settings."""
    names = {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"}
    passed = {name: value for name, value in os.environ.items() if name.upper() in names}
    return {**passed, **_pip()}


def _pip() -> dict[str, str]:
    """Return pip's settings, from whatever file or variable, as variables."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    settings = (line.partition("=") for line in listed.splitlines())
    return {
        f"PIP_{name.rpartition('.')[2].upper().replace('-', '_')}": str(ast.literal_eval(value))
        for name, found, value in settings
        if found
    }
