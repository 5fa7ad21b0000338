"""Sets of jars: what is damaged is fetched again, what is whole is not touched."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree

import pytest

from runtime.errors import JarsError
from runtime.jars import (
    MANIFEST,
    artifact_of,
    damage,
    ensure,
    ensure_all,
    first_complaint,
    ivy_description,
    pinned_digests,
    proxy_flags,
)
from runtime.jarsets import DELTA, KAFKA, S3, JarSet
from runtime.maven import MavenResolver
from tests.http_serving import serving

JARS = JarSet(name="toys-1.0", modules=("org.example:toy:1.0",))


class FakeResolver:
    """Writes two jars, or fails after one of them."""

    def __init__(self, fails: bool = False, pause_seconds: float = 0.0) -> None:
        self.calls = 0
        self._fails = fails
        self._pause_seconds = pause_seconds

    def __call__(self, jars: JarSet, folder: Path) -> None:
        self.calls += 1
        (folder / "toy-1.0.jar").write_bytes(b"toy")
        time.sleep(self._pause_seconds)
        if self._fails:
            raise JarsError("the network is gone")
        (folder / "part-2.3.jar").write_bytes(b"part")


def test_a_second_call_resolves_nothing(tmp_path: Path) -> None:
    resolver, notices = FakeResolver(), list[str]()
    folder = ensure(JARS, resolver, cache=tmp_path, on_progress=notices.append)
    assert ensure(JARS, resolver, cache=tmp_path, on_progress=notices.append) == folder
    assert resolver.calls == 1
    assert notices == ["downloading the jars of toys-1.0"]
    assert sorted(jar.name for jar in folder.glob("*.jar")) == ["part-2.3.jar", "toy-1.0.jar"]


@pytest.mark.parametrize(
    ("harm", "reported"),
    [
        pytest.param(
            lambda folder: (folder / "toy-1.0.jar").write_bytes(b"to"), "wrong size", id="cut short"
        ),
        pytest.param(lambda folder: (folder / "toy-1.0.jar").unlink(), "missing", id="jar gone"),
        pytest.param(lambda folder: (folder / MANIFEST).unlink(), "missing", id="no manifest"),
        pytest.param(
            lambda folder: (folder / MANIFEST).write_text("{"), "cannot be read", id="half manifest"
        ),
        pytest.param(
            lambda folder: (folder / MANIFEST).write_text('{"jars": []}'),
            "lists nothing",
            id="empty manifest",
        ),
        pytest.param(
            lambda folder: (folder / "alien-1.jar").write_bytes(b"x"),
            "alien-1.jar is not in the manifest",
            id="stranger",
        ),
    ],
)
def test_a_damaged_set_is_fetched_again(
    tmp_path: Path, harm: Callable[[Path], object], reported: str
) -> None:
    resolver, notices = FakeResolver(), list[str]()
    folder = ensure(JARS, resolver, cache=tmp_path)
    harm(folder)
    assert reported in str(damage(folder))
    ensure(JARS, resolver, cache=tmp_path, on_progress=notices.append)
    assert resolver.calls == 2
    assert reported in notices[0]
    assert damage(folder) is None


def test_a_failed_download_leaves_nothing_that_looks_finished(tmp_path: Path) -> None:
    with pytest.raises(JarsError, match="the network is gone"):
        ensure(JARS, FakeResolver(fails=True), cache=tmp_path)
    assert damage(tmp_path / "jars" / JARS.folder_name) == f"{MANIFEST} is missing"
    assert not list((tmp_path / "jars").rglob("*.jar"))
    assert damage(ensure(JARS, FakeResolver(), cache=tmp_path)) is None


def test_the_rest_of_a_killed_download_is_removed(tmp_path: Path) -> None:
    rest = tmp_path / "jars" / f".{JARS.folder_name}.0123abcd.part"
    rest.mkdir(parents=True)
    (rest / "toy-1.0.jar").write_bytes(b"t")
    ensure(JARS, FakeResolver(), cache=tmp_path)
    assert not rest.exists()


def test_a_missing_jar_of_the_set_itself_is_an_error(tmp_path: Path) -> None:
    def forgetful(jars: JarSet, folder: Path) -> None:
        (folder / "part-2.3.jar").write_bytes(b"part")

    with pytest.raises(JarsError, match=r"toy-1\.0\.jar was not downloaded"):
        ensure(JARS, forgetful, cache=tmp_path)


def test_calls_at_the_same_time_resolve_once(tmp_path: Path) -> None:
    resolver = FakeResolver(pause_seconds=0.3)
    threads = [
        threading.Thread(target=ensure, args=(JARS, resolver), kwargs={"cache": tmp_path})
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert resolver.calls == 1


def test_sets_are_resolved_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADROOM_CACHE", str(tmp_path))
    together = threading.Barrier(2, timeout=10)

    def resolve(jars: JarSet, folder: Path) -> None:
        together.wait()
        for module in jars.modules:
            _, artifact, version = module.split(":")
            (folder / f"{artifact}-{version}.jar").write_bytes(b"x")

    other = JarSet(name="tools-2", modules=("org.example:tool:2",))
    folders = ensure_all((JARS, other), resolve, lambda _: None)
    assert [folder.name for folder in folders] == [JARS.folder_name, other.folder_name]


def test_one_failure_of_several_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADROOM_CACHE", str(tmp_path))
    with pytest.raises(JarsError, match="the network is gone"):
        ensure_all((JARS,), FakeResolver(fails=True), lambda _: None)


@pytest.mark.parametrize(
    ("name", "artifact"),
    [
        pytest.param("zstd-jni-1.5.7-7.jar", "zstd-jni", id="two numbers"),
        pytest.param("delta-spark_4.2_2.13-4.4.0.jar", "delta-spark_4.2_2.13", id="scala"),
        pytest.param("orc-core-2.3.0-shaded-protobuf.jar", "orc-core", id="classifier"),
        pytest.param("jackson-annotations-2.21.jar", "jackson-annotations", id="short"),
    ],
)
def test_the_artifact_is_read_from_a_file_name(name: str, artifact: str) -> None:
    assert artifact_of(name) == artifact


@pytest.mark.parametrize(
    "jars",
    [
        pytest.param(KAFKA, id="kafka"),
        pytest.param(DELTA, id="delta"),
        pytest.param(S3, id="s3"),
    ],
)
def test_the_description_for_ivy_names_every_module(jars: JarSet) -> None:
    dependencies = ElementTree.fromstring(ivy_description(jars)).iter("dependency")  # noqa: S314
    found = {f"{each.get('org')}:{each.get('name')}:{each.get('rev')}" for each in dependencies}
    assert found == set(jars.modules)


def test_a_changed_set_gets_another_folder() -> None:
    assert JARS.folder_name != JarSet(name="toys-1.0", modules=("org.example:toy:1.1",)).folder_name


@pytest.mark.parametrize(
    ("environment", "flags"),
    [
        pytest.param({}, [], id="no proxy"),
        pytest.param(
            {"https_proxy": "http://user:secret@proxy.example.com:3128"},
            ["-Dhttps.proxyHost=proxy.example.com", "-Dhttps.proxyPort=3128"],
            id="without the password",
        ),
        pytest.param(
            {"HTTP_PROXY": "proxy:80", "no_proxy": "localhost, .example.com"},
            [
                "-Dhttp.proxyHost=proxy",
                "-Dhttp.proxyPort=80",
                "-Dhttp.nonProxyHosts=localhost|*.example.com",
            ],
            id="exceptions",
        ),
    ],
)
def test_proxies_are_handed_to_java(environment: dict[str, str], flags: list[str]) -> None:
    assert proxy_flags(environment) == flags


def test_pinned_jars_come_from_a_repository_without_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a repository of two jars, when one of them differs from its digest, none is kept."""
    repository, pinned = tmp_path / "repository", tmp_path / "jars.sha256"
    lines = []
    for name in ("toy-1.0", "part-2.3"):
        path = f"org/example/{name.replace('-', '/')}/{name}.jar"
        (repository / path).parent.mkdir(parents=True)
        (repository / path).write_bytes(name.encode())
        lines.append(f"{hashlib.sha256(name.encode()).hexdigest()}  {JARS.name}/{path}")
    pinned.write_text("\n".join(lines))
    monkeypatch.setattr("runtime.jars.DIGESTS", pinned)
    handler = partial(SimpleHTTPRequestHandler, directory=str(repository))
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as port:
        resolver = MavenResolver(f"http://127.0.0.1:{port}")
        folder = ensure(JARS, resolver, cache=tmp_path / "good")
        assert sorted(jar.name for jar in folder.glob("*.jar")) == ["part-2.3.jar", "toy-1.0.jar"]
        (repository / "org/example/part/2.3/part-2.3.jar").write_bytes(b"another")
        with pytest.raises(JarsError, match=r"part-2\.3\.jar is not the file"):
            ensure(JARS, resolver, cache=tmp_path / "bad")
        (repository / "org/example/part/2.3/part-2.3.jar").unlink()
        with pytest.raises(JarsError, match="404"):
            ensure(JARS, resolver, cache=tmp_path / "bad")
    assert not [*(tmp_path / "bad").rglob("*.jar")]


def test_fetching_jars_needs_no_package() -> None:
    command = [sys.executable, "-S", "-c", "import runtime.maven"]
    assert subprocess.run(command, check=False).returncode == 0


def test_the_first_complaint_of_ivy_is_found(tmp_path: Path) -> None:
    log = tmp_path / "ivy.log"
    log.write_text(":: resolving\nHost mirror.example.com not found.  url=…\nmore\n")
    assert first_complaint(log) == "Host mirror.example.com not found. url=…"


@pytest.mark.parametrize("jars", [DELTA, KAFKA, S3], ids=lambda jars: jars.name)
def test_every_jar_of_ours_has_a_digest(jars: JarSet) -> None:
    pinned = pinned_digests(jars)
    for module in jars.modules:
        _, artifact, version = module.split(":")
        assert f"{artifact}-{version}.jar" in pinned
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in pinned.values())


@pytest.mark.parametrize("harm", ["another content", "another jar"])
def test_a_jar_that_is_not_pinned_is_not_used(
    harm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = tmp_path / "pinned"
    names = {"toy-1.0.jar": b"toy", "part-2.3.jar": b"part"}
    if harm == "another content":
        names["part-2.3.jar"] = b"something else"
    else:
        del names["part-2.3.jar"]
    pinned.write_text(
        "".join(
            f"{hashlib.sha256(content).hexdigest()}  toys-1.0/{name}\n"
            for name, content in names.items()
        )
    )
    monkeypatch.setattr("runtime.jars.DIGESTS", pinned)
    with pytest.raises(JarsError, match=r"part-2\.3\.jar is not the file"):
        ensure(JARS, FakeResolver(), cache=tmp_path / "cache")
    assert list((tmp_path / "cache" / "jars").glob("toys*/*.jar")) == []
