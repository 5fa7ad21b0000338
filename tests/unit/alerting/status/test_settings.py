from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from alerting.status.model import DEFAULT_STATUS_RULES, StatusRules

ROOT = Path(__file__).parents[4]
DOCS = ROOT / "docs/alerts.md"
MOST = 20
DECIDES_NOTHING = {"model.py", "phrases.py", "explain.py", "descriptions.py"}
"""The settings themselves, and what only words things."""
REASONS = {
    "_DAY = 86400.0": "a day has as many seconds",
    "2 * sqrt(": "two standard deviations hold 19 of 20 samples",
    "1e-9": "nothing is divided by zero",
    "1e6": "microseconds",
    "@lru_cache(maxsize=256)": "the size of a cache",
    "if len(made) > 2 * len(self._polls):": "the size of a cache",
    "RECALL_SECONDS = 20.0": "how long is read; no status hangs on it",
    "READ_ON_SECONDS = 5.0": "how long is read; no status hangs on it",
    "MOST_RECALLED_ROWS = 2_000_000": "how much is read; no status hangs on it",
    "LEAST_POINTS = 3": "two points make a line, whatever they are",
}
"""Numbers that are no thresholds, by a piece of their line."""


def test_the_documentation_has_every_setting_with_its_unit_and_reason() -> None:
    section = DOCS.read_text().partition("### The settings behind it")[2].partition("\n## ")[0]
    documented = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", section, re.MULTILINE)
    settings, derived = documented[:MOST], documented[MOST:]
    assert settings == [
        (
            one.name,
            f"{getattr(DEFAULT_STATUS_RULES, one.name):,g} {one.metadata['unit']}",
            one.metadata["reason"],
        )
        for one in fields(StatusRules)
    ]
    assert [(name, value.rpartition(" = ")[2].split()[0]) for name, value, _ in derived] == [
        (name, f"{getattr(DEFAULT_STATUS_RULES, name):,g}")
        for name, value in vars(StatusRules).items()
        if isinstance(value, property)
    ]


def test_settings_stay_few() -> None:
    assert len(fields(StatusRules)) <= MOST


def test_no_number_stands_beside_the_settings() -> None:
    found = {
        f"{path.name}: {line}"
        for folder in ("status", "evaluate")
        for path in (ROOT / "alerting" / folder).glob("*.py")
        if path.name not in DECIDES_NOTHING
        for line in _numbers(path.read_text())
        if not any(piece in line for piece in REASONS)
    }
    assert found == set()


def test_a_number_is_found_wherever_it_stands() -> None:
    text = "LIMIT = 7\nif age > 3 * period and len(seen) > 2 and x / 2 > seen[-2]:\n    go(0.5)\n"
    assert set(_numbers(text)) == set(filter(None, map(str.strip, text.splitlines())))
    assert not list(
        _numbers("y = sum(a[2:5]) / 2\nif len(a) < 3 or b > 1 or not a[1] ** 2:\n    z")
    )


def _numbers(text: str) -> Iterator[str]:
    """Yield the lines of a module with a number that is none of mathematics.

    Those are nothing, one, halves, squares, places in a sequence, and the fewest points of a line.
    """
    tree, lines = ast.parse(text), text.splitlines()
    fine: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            fine |= set(ast.walk(node.slice))
        if isinstance(node, ast.Compare) and ast.unparse(node.left).startswith("len("):
            fine |= set(node.comparators)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Pow):
            if isinstance(node.right, ast.Constant) and node.right.value == 2:
                fine.add(node.right)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            if node not in fine and node.value not in (0, 1):
                yield lines[node.lineno - 1].strip()
