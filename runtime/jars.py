"""Jars of Kafka and Delta: resolved with the Ivy that pyspark ships, kept in the cache folder.

A set of jars is a folder with a manifest. The manifest is written last and the folder moves into
place in one step, so whatever interrupted a download leaves nothing that looks finished.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from runtime.cache import cache_folder, exclusive, write_atomically
from runtime.errors import JarsError, ProcessError
from runtime.jarsets import DELTA, KAFKA, S3, JarSet
from runtime.processes import ProcessGroup

if TYPE_CHECKING:  # it needs packages, which are not there yet while jars are fetched beside them
    from runtime.java import Java

MANIFEST = "manifest.json"
DIGESTS = Path(__file__).with_name("jars.sha256")
"""SHA-256 of every jar, with its set and its path in a Maven repository."""

_RESOLVE_SECONDS = 900


class Resolver(Protocol):
    """Fetches the jars of a set into a folder, or raises JarsError."""

    def __call__(self, jars: JarSet, folder: Path) -> None:
        """Put every jar of the set into an existing, empty folder."""


def kafka_classpath(java: Java, *, on_progress: Callable[[str], None] | None = None) -> Path:
    """Return the folder with Kafka's jars, downloading them at the first call.

    Returns:
        A folder; the class path is ``<folder>/*``.
    """
    return ensure(KAFKA, IvyResolver(java), on_progress=on_progress)


def spark_jars(
    java: Java, *, s3: bool = False, on_progress: Callable[[str], None] | None = None
) -> list[Path]:
    """Return Spark's further jars, without those that pyspark already ships.

    Returns:
        Paths for ``spark.jars``, sorted by name.
    """
    wanted = (DELTA, S3) if s3 else (DELTA,)
    folders = [ensure(jars, IvyResolver(java), on_progress=on_progress) for jars in wanted]
    shipped = {artifact_of(jar.name) for jar in _pyspark_jars().glob("*.jar")}
    found = [jar for folder in folders for jar in sorted(folder.glob("*.jar"))]
    return [jar for jar in found if artifact_of(jar.name) not in shipped]


def artifact_of(file_name: str) -> str:
    """Return a jar's artifact name without its version: ``zstd-jni`` for zstd-jni-1.5.7-7.jar."""
    return re.split(r"-\d", file_name.removesuffix(".jar"), maxsplit=1)[0]


def ensure(
    jars: JarSet,
    resolve: Resolver,
    *,
    cache: Path | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Path:
    """Return the folder of a set of jars, resolving it where it is missing or damaged.

    Safe to call from several processes at once: one downloads, the others wait.
    """
    root = (cache or cache_folder()) / "jars"
    folder = root / jars.folder_name
    if damage(folder) is None:
        return folder
    with exclusive(root / f"{jars.folder_name}.lock"):
        found = damage(folder)
        if found is None:  # another process finished it while this one waited
            return folder
        if on_progress:
            why = "" if not folder.exists() else f" again ({found})"
            on_progress(f"downloading the jars of {jars.name}{why}")
        draft = root / f".{jars.folder_name}.{uuid.uuid4().hex[:8]}.part"
        _remove_leftovers(root, jars.folder_name)
        draft.mkdir()
        try:
            resolve(jars, draft)
            check_digests(jars, draft)
            _write_manifest(jars, draft)
            if folder.exists():
                shutil.rmtree(folder)
            draft.rename(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return folder


def downloaded_jars() -> list[Path]:
    """Return every jar of every whole set in the cache."""
    folders = sorted((cache_folder() / "jars").glob("*/"))
    return [jar for folder in folders if damage(folder) is None for jar in folder.glob("*.jar")]


def damage(folder: Path) -> str | None:
    """Say what is wrong with a folder of jars, or None when it is whole."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        listed = {str(entry["name"]): entry for entry in manifest["jars"]}
        if not listed:
            return "its manifest lists nothing"
        for name, entry in listed.items():
            if (folder / name).stat().st_size != entry["bytes"]:
                return f"{name} has a wrong size"
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (OSError, ValueError, KeyError, TypeError):
        return "its manifest cannot be read"
    strangers = {jar.name for jar in folder.glob("*.jar")} - listed.keys()
    return f"{min(strangers)} is not in the manifest" if strangers else None


def _remove_leftovers(root: Path, folder_name: str) -> None:
    """Delete what killed downloads left; the caller holds the lock, so none is at work."""
    for leftover in root.glob(f".{folder_name}.*.part"):
        shutil.rmtree(leftover, ignore_errors=True)


def pinned_digests(jars: JarSet) -> dict[str, str]:
    """Return the SHA-256 of each jar of a set by its name; empty for a set that is not ours."""
    return {path.rpartition("/")[2]: digest for path, digest in pinned_paths(jars).items()}


def pinned_paths(jars: JarSet) -> dict[str, str]:
    """Return the SHA-256 of each jar of a set by its path in a Maven repository."""
    lines = DIGESTS.read_text(encoding="utf-8").splitlines()
    entries = (line.split("  ", 1) for line in lines if line)
    start = f"{jars.name}/"
    return {path.removeprefix(start): digest for digest, path in entries if path.startswith(start)}


def check_digests(jars: JarSet, folder: Path) -> None:
    """Compare downloaded jars with the digests that this project pins.

    Raises:
        JarsError: One differs, or is not among them.
    """
    pinned = pinned_digests(jars)
    for jar in sorted(folder.glob("*.jar")) if pinned else []:
        digest = hashlib.sha256(jar.read_bytes()).hexdigest()
        if pinned.get(jar.name) != digest:
            raise JarsError(
                f"{jar.name} is not the file that this project was tested with (SHA-256 {digest}): "
                "it was not used; check the network or the mirror, and run the command again"
            )


def _write_manifest(jars: JarSet, folder: Path) -> None:
    files = sorted(folder.glob("*.jar"))
    for module in jars.modules:
        name = "-".join(module.split(":")[1:]) + ".jar"
        if not (folder / name).is_file():
            raise JarsError(f"{name} was not downloaded: run the command again")
    entries = [{"name": jar.name, "bytes": jar.stat().st_size} for jar in files]
    content = {"modules": list(jars.modules), "jars": entries}
    write_atomically(folder / MANIFEST, json.dumps(content, indent=1) + "\n")


def _pyspark_jars() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JarsError("pyspark is not installed: run: pip install -r requirements.txt")
    return Path(spec.origin).parent / "jars"


class IvyResolver:
    """Resolves jars from Maven Central, or from what HEADROOM_IVY_SETTINGS names, with Ivy."""

    def __init__(self, java: Java, environment: Mapping[str, str] | None = None) -> None:
        self._java = java
        self._environment = dict(os.environ if environment is None else environment)

    def __call__(self, jars: JarSet, folder: Path) -> None:
        """Put every jar of the set into a folder."""
        ivy = next(iter(sorted(_pyspark_jars().glob("ivy-*.jar"))), None)
        if ivy is None:
            raise JarsError("pyspark ships no Ivy: run: pip install --force-reinstall pyspark")
        # Beside the draft: kept after a failure, so that a retry goes on where this one ended.
        work = folder.parent / f"{jars.folder_name}.ivy"
        work.mkdir(exist_ok=True)
        description = work / "ivy.xml"
        description.write_text(ivy_description(jars), encoding="utf-8")
        log = work / "ivy.log"
        command = [
            str(self._java.executable),
            "-XX:TieredStopAtLevel=1",
            *proxy_flags(self._environment),
            "-cp",
            str(ivy),
            "org.apache.ivy.Main",
            *self._settings(),
            "-cache",
            str(work / "cache"),
            "-ivy",
            str(description),
            "-retrieve",
            f"{folder}/[artifact]-[revision](-[classifier]).[ext]",
            "-types",
            "jar",
            "bundle",
        ]
        log.unlink(missing_ok=True)
        try:
            # A process group of its own: the download ends when this process does.
            with ProcessGroup(grace_seconds=2) as processes:
                ivy_process = processes.start("Ivy", command, log=log)
                ended = ivy_process.wait(_RESOLVE_SECONDS)
        except ProcessError as error:
            raise JarsError(_failure(jars, str(error), log)) from error
        if not ended:
            raise JarsError(_failure(jars, f"no end after {_RESOLVE_SECONDS} s", log))
        if ivy_process.returncode != 0:
            raise JarsError(_failure(jars, first_complaint(log), log))
        shutil.rmtree(work, ignore_errors=True)

    def _settings(self) -> list[str]:
        name = self._environment.get("HEADROOM_IVY_SETTINGS")
        if not name:
            return []
        settings = Path(name).expanduser()
        if not settings.is_file():
            raise JarsError(f"HEADROOM_IVY_SETTINGS names {settings}, which is not a file")
        return ["-settings", str(settings)]


def ivy_description(jars: JarSet) -> str:
    """Return the ivy.xml of a set of jars."""
    lines = [
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">',
        '  <info organisation="headroom" module="jars"/>',
        "  <dependencies>",
    ]
    for module in jars.modules:
        organisation, artifact, version, *classifier = module.split(":")
        dependency = (
            f"<dependency org={quoteattr(organisation)} name={quoteattr(artifact)} "
            f'rev={quoteattr(version)} conf="default-&gt;default"'
        )
        if classifier:  # that jar alone
            dependency += (
                f' transitive="false"><artifact name={quoteattr(artifact)} type="jar" ext="jar" '
                f"m:classifier={quoteattr(classifier[0])}/></dependency>"
            )
        else:
            dependency += "/>"
        lines.append(f"    {dependency}")
    for excluded in jars.excluded:
        organisation, _, artifact = excluded.partition(":")
        module = f" module={quoteattr(artifact)}" if artifact else ""
        lines.append(f"    <exclude org={quoteattr(organisation)}{module}/>")
    lines += ["  </dependencies>", "</ivy-module>", ""]
    return "\n".join(lines)


def proxy_flags(environment: Mapping[str, str]) -> list[str]:
    """Translate the usual proxy variables into Java's flags; Java does not read them itself.

    A proxy's user name and password are left out: a command line is visible to other users.
    """
    flags = []
    for scheme in ("http", "https"):
        variable = f"{scheme}_proxy"
        value = environment.get(variable) or environment.get(variable.upper())
        if not value:
            continue
        proxy = urlsplit(value if "://" in value else f"http://{value}")
        if proxy.hostname:
            flags.append(f"-D{scheme}.proxyHost={proxy.hostname}")
            flags.append(f"-D{scheme}.proxyPort={proxy.port or 80}")
    direct = environment.get("no_proxy") or environment.get("NO_PROXY")
    if flags and direct:
        hosts = [part.strip() for part in direct.split(",") if part.strip()]
        patterns = [f"*{host}" if host.startswith(".") else host for host in hosts]
        flags.append("-Dhttp.nonProxyHosts=" + "|".join(patterns))
    return flags


def first_complaint(log: Path) -> str:
    """Return the first line of Ivy's log that says what went wrong."""
    lines = [line.strip() for line in log.read_text("utf-8", errors="replace").splitlines()]
    for sign in ("Exception", "Host ", "unresolved dependency", "FAILED", "ERROR", "Error"):
        for line in lines:
            if sign in line:
                return " ".join(line.split())[:200]
    return lines[-1][:200] if lines else "Ivy said nothing"


def _failure(jars: JarSet, why: str, log: Path) -> str:
    return (
        f"the jars of {jars.name} could not be downloaded ({why}): check the network "
        "(https_proxy, or HEADROOM_IVY_SETTINGS for a mirror) and run the command again; "
        f"Ivy's log: {log}"
    )


def ensure_all(
    wanted: Sequence[JarSet], resolve: Resolver, on_progress: Callable[[str], None]
) -> list[Path]:
    """Resolve sets of jars side by side."""
    # Threads that do not hold the process: Ctrl-C ends a download at once.
    found: dict[str, Path] = {}
    failures: list[JarsError] = []

    def work(jars: JarSet) -> None:
        try:
            found[jars.name] = ensure(jars, resolve, on_progress=on_progress)
        except JarsError as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(jars,), daemon=True) for jars in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [found[jars.name] for jars in wanted]
