"""Our own regular expressions: constants, and none that a hostile text can hold up."""

from __future__ import annotations

import ast
import re
import signal
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
METHODS = {"search", "match", "fullmatch", "sub", "split", "findall", "finditer"}
LENGTH = 100_000
COMMON = [
    " ",
    "\n",
    "\n ",
    "0",
    "0.",
    "a",
    "a.",
    "A$",
    "-",
    "1-",
    "1,",
    ".",
    "://",
    '"',
    "'",
    "=",
    ":",
]


def modules() -> Iterator[tuple[str, ast.Module]]:
    for package in SETTINGS["tool"]["mypy"]["packages"]:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if "import re" in text or "from re import" in text:
                yield str(path.relative_to(ROOT)), ast.parse(text)


MODULES = list(modules())
assert MODULES, "no module was found to look at"


def calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Find every call of a function of ``re`` that takes a pattern."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in METHODS | {"compile"}
        ):
            yield node, node.func.attr


def flags(call: ast.Call) -> re.RegexFlag:
    names = [
        node.attr
        for argument in [*call.args[1:], *(each.value for each in call.keywords)]
        for node in ast.walk(argument)
        if isinstance(node, ast.Attribute)
        and isinstance(getattr(re, node.attr, None), re.RegexFlag)
    ]
    return re.RegexFlag(sum(getattr(re, name) for name in set(names)))


def used(tree: ast.Module, call: ast.Call) -> set[str]:
    """Return the methods that are called of a compiled pattern; ``search`` where it has no name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and node.value is call:
            assert isinstance(node.targets[0], ast.Name)
            name = node.targets[0].id
            return {
                each.attr
                for each in ast.walk(tree)
                if isinstance(each, ast.Attribute)
                and isinstance(each.value, ast.Name)
                and each.value.id == name
            } & METHODS
    return {"search"}


def own_patterns() -> list[object]:
    return [
        pytest.param(
            re.compile(call.args[0].value, flags(call)),
            used(tree, call) if function == "compile" else {function},
            id=f"{path}:{call.lineno}",
        )
        for path, tree in MODULES
        for call, function in calls(tree)
        if isinstance(call.args[0], ast.Constant)
    ]


def test_python_s_engine_takes_constant_patterns_only() -> None:
    """What is put together or comes from others goes through ``config.patterns``."""
    put_together = [
        f"{path}:{call.lineno}"
        for path, tree in MODULES
        for call, _ in calls(tree)
        if not isinstance(call.args[0], ast.Constant)
    ]
    renamed = [
        f"{path}:{node.lineno}"
        for path, tree in MODULES
        for node in ast.walk(tree)
        if (isinstance(node, ast.ImportFrom) and node.module == "re")
        or (isinstance(node, ast.Import) and any(e.name == "re" and e.asname for e in node.names))
    ]
    assert (put_together, renamed) == ([], [])


@pytest.fixture
def limited() -> Iterator[None]:
    """End a test after some processor time: how busy the machine is makes no difference."""

    def end(*_: object) -> None:
        raise TimeoutError("this pattern does not take linear time")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, 10)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize(("pattern", "methods"), own_patterns())
def test_no_pattern_is_held_up_by_a_hostile_text(
    pattern: re.Pattern[str], methods: set[str]
) -> None:
    """At this length a pattern of quadratic time takes minutes."""
    assert methods
    words = re.findall(r"[A-Za-z]{2,}", re.sub(r"\\.", " ", pattern.pattern))
    units = dict.fromkeys([*COMMON, *(f"{word}." for word in words)])
    for method, unit in product(methods, units):
        for beginning in ("", "a=x") if method in ("match", "fullmatch") else ("",):
            text = beginning + unit * (LENGTH // len(unit)) + "\0"
            found = getattr(pattern, method)(*([""] if method.startswith("sub") else []), text)
            if method == "finditer":
                list(found)
