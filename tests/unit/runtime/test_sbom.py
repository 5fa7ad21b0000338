"""The bill of materials, and that nobody brings a licence that nobody has looked at."""

from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from typer.testing import CliRunner

from runtime.__main__ import cli
from runtime.sbom import document, licence_of

# Permissive ones, and MPL-2.0, whose duties concern changed files of the package itself.
ALLOWED = re.compile(
    r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla Public|0BSD|Zlib|CC0|CNRI"
    r"|DFSG approved"
)


def required() -> list[str]:
    lines = Path("requirements.txt").read_text(encoding="utf-8").splitlines()
    return [re.split(r"[=\[ ]", line)[0] for line in lines if re.match(r"[a-z0-9]", line)]


def test_every_package_that_runs_has_a_licence_that_was_looked_at() -> None:
    looked_at, strange = 0, {}
    for name in required():
        try:
            licence = licence_of(distribution(name))
        except PackageNotFoundError:  # of another platform
            continue
        looked_at += 1
        parts = [part for part in re.split(r" AND | OR |[()]", licence) if part.strip()]
        if not parts or not all(ALLOWED.search(part) for part in parts):
            strange[name] = licence
    assert looked_at > 50
    assert strange == {}


def test_the_document_names_every_package_with_its_version() -> None:
    found = {
        each["name"]: each for each in document([Path("/x/zstd-jni-1.5.7-7.jar")])["components"]
    }
    assert found["zstd-jni"]["version"] == "1.5.7-7"
    text = Path("requirements.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([a-z0-9.-]+)==(\S+) \\$", text, re.MULTILINE))
    assert len(pinned) > 50
    assert {name: found[name]["version"] for name in pinned} == pinned


def test_the_command_prints_json() -> None:
    answer = CliRunner().invoke(cli, ["sbom"])
    assert answer.exit_code == 0
    assert json.loads(answer.stdout)["bomFormat"] == "CycloneDX"
