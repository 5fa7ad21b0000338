"""The documentation: links hold, lines are short, commands, settings and columns exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel
from typer.testing import CliRunner

from alerting.rules.rule_file import load_rules
from alerting.tools.rule_tests import run_tests
from config.load import load
from config.settings import ClusterSettings, Settings
from lake.schemas.current import CURRENT_TABLES
from lake.schemas.tables import TABLES

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [README, *DOCS, ROOT / "demo" / "README.md"]
SHORT = [*PAGES, ROOT / "config" / "example.yaml"]
LONGEST_LINE = 100
LONGEST_README = 120
COMMANDS = {
    "alerting": "app",
    "bench": "app",
    "collectors": "app",
    "demo": "cli",
    "runtime": "cli",
    "scaling": "app",
    "spark_metrics": "app",
}

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Find the fenced blocks of a page: their language and what is in them."""
    yield from re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def prose(text: str) -> str:
    return re.sub(r"^```\w*\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def links(page: Path) -> Iterator[tuple[str, str]]:
    """Find the relative links of a page: the file, and the anchor or an empty text."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page.read_text(encoding="utf-8"))):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            yield path, anchor


@pages
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for path, anchor in links(page):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {path}, which is not there"
        if anchor:
            found = anchors(target.read_text(encoding="utf-8"))
            assert anchor in found, f"{page.name} links to {path}#{anchor}"


def test_every_page_is_linked_from_another() -> None:
    linked = {(page.parent / path).resolve() for page in PAGES for path, _ in links(page) if path}
    assert [page.name for page in PAGES if page != README and page not in linked] == []


@pytest.mark.parametrize("page", SHORT, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_line_is_too_long(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    wide = [
        f"{page.name}:{number}"
        for number, line in enumerate(lines, 1)
        # An address cannot be broken.
        if len(re.sub(r"https?://\S+", "", line)) > LONGEST_LINE
    ]
    assert wide == []


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= LONGEST_README


def command_lines(text: str) -> Iterator[str]:
    """Find command lines of the product, in blocks and in sentences."""
    for _, block in blocks(text):
        for line in block.replace("\\\n", " ").splitlines():
            line = re.sub(r"^(\S*/)?headroom ", "python -m runtime ", line)
            if found := re.search(r"python -m (.*)", line.split("  #")[0]):
                yield found[1].split(')"')[0]
    for inline in re.findall(r"`([^`\n]+)`", prose(text)):
        inline = re.sub(r"^(\S*/)?headroom ", "python -m runtime ", inline)
        if found := re.match(r"(?:\S+/)?python -m (.*)", inline):
            yield found[1]


@pages
def test_command_lines_are_understood(page: Path) -> None:
    wrong = []
    for line in command_lines(page.read_text(encoding="utf-8")):
        package, *arguments = shlex.split(line)
        if package in COMMANDS:
            module = "commands" if package == "collectors" else "__main__"
            app = getattr(import_module(f"{package}.{module}"), COMMANDS[package])
            # The parser reads the whole line before it shows the help of that command.
            result = CliRunner().invoke(app, [*arguments, "--help"])
            if result.exit_code:
                wrong.append(f"python -m {line}")
    assert wrong == []


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        name
        for page in PAGES
        for name in re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8"))
    }
    assert named <= targets


def configurations() -> list[object]:
    """Find the blocks that are (a part of) a configuration."""
    keys = set(Settings.model_fields)
    found: list[object] = [
        pytest.param(block, id=f"{page.name}-{number}")
        for page in PAGES
        for number, (language, block) in enumerate(blocks(page.read_text(encoding="utf-8")))
        if language == "yaml" and set(yaml.safe_load(block)) <= keys
    ]
    assert found
    return found


@pytest.mark.parametrize("block", configurations())
def test_configurations_load(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in re.findall(r"\{env: (\w+)\}", block):
        monkeypatch.setenv(name, "json://example.com")
    monkeypatch.setenv("A_FILE", "secret-of-more-than-thirty-two-characters")
    text = re.sub(r"\{file: [^}]+\}", "{env: A_FILE}", block)
    if "clusters" not in yaml.safe_load(block):
        text += "\nclusters: [{name: production, bootstrap_servers: 'kafka-1:9092'}]\n"
    path = tmp_path / "headroom.yaml"
    path.write_text(text, encoding="utf-8")
    assert load(path).clusters


def test_rules_and_their_tests_run(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    for language, block in blocks(text):
        if language == "yaml":
            name = "tests.yaml" if "tests" in yaml.safe_load(block) else "rules.yaml"
            (tmp_path / name).write_text(block, encoding="utf-8")
    assert load_rules(tmp_path / "rules.yaml").rules
    assert [test.failures for test in run_tests(tmp_path / "tests.yaml")] == [()]


def dotted(page: Path) -> set[tuple[str, str]]:
    """Return names of the form ``first.second`` that a page writes as code."""
    text = prose(page.read_text(encoding="utf-8"))
    return set(re.findall(r"`([a-z_]+)\.([a-z_.]+)`", text))


@pages
def test_columns_exist(page: Path) -> None:
    tables = {**TABLES, **{table.name: table for table in CURRENT_TABLES}}
    wrong = [
        f"{table}.{column}"
        for table, column in sorted(dotted(page))
        if table in tables
        and not is_setting(ClusterSettings, f"{table}.{column}")
        and not is_setting(Settings, f"{table}.{column}")
        and column not in {each.name for each in tables[table].columns}
    ]
    assert wrong == []


def is_setting(section: object, path: str) -> bool:
    key, _, rest = path.partition(".")
    if not (isinstance(section, type) and issubclass(section, BaseModel)):
        return not path
    if key not in section.model_fields:
        return False
    return not rest or is_setting(section.model_fields[key].annotation, rest)


@pages
def test_settings_exist(page: Path) -> None:
    # Of Spark only the keys that are not its own properties.
    sections = {"alerting", "app", "collectors", "lake", "scaling"}
    wrong = [
        f"{section}.{path}"
        for section, path in sorted(dotted(page))
        if section in sections and not is_setting(Settings.model_fields[section].annotation, path)
    ]
    assert wrong == []
