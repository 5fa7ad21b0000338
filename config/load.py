"""Reading the configuration file."""

from __future__ import annotations

import os
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from config.errors import ConfigError
from config.settings import Settings

CONFIG_VARIABLE = "HEADROOM_CONFIG"
"""Names the configuration file for programs that take no ``--config``, such as the dashboard."""

_TOO_DEEP = "is nested too deeply"
_DEEPEST = 50
_LARGEST_BYTES = 8 * 1024 * 1024
_OTHER_VARIABLES = frozenset(
    {CONFIG_VARIABLE, "HEADROOM_CACHE", "HEADROOM_HEARTBEAT", "HEADROOM_IVY_SETTINGS"}
)


_KEY_TAGS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge")
_LONGEST_KEY = 60
_MOST_REPEATED = 100_000

# What PyYAML lets through where a number, a date or a tag is none.
_NOT_YAML = (ValueError, TypeError, KeyError, AttributeError, IndexError)


class _Loader(yaml.SafeLoader):
    """YAML whose keys are texts that stand once; each problem names its line.

    Depth is limited while text is cut into tokens: PyYAML looks at every open bracket for each.
    """

    def fetch_flow_collection_start(self, token: type[yaml.Token]) -> None:
        self._check_depth(self.flow_level)
        super().fetch_flow_collection_start(token)

    def add_indent(self, column: int) -> bool:
        self._check_depth(len(self.indents))
        return bool(super().add_indent(column))

    def _check_depth(self, depth: int) -> None:
        if depth >= _DEEPEST:
            raise ConfigError(f"line {self.line + 1}: {_TOO_DEEP}")

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(f"{_line(key)}: a key must be a text, not a list or a mapping")
            shown = _printable(key.value)
            if key.tag not in _KEY_TAGS:
                raise ConfigError(f'{_line(key)}: a key must be a text: write "{shown}" in quotes')
            if key.value in seen:
                raise ConfigError(f"{_line(key)}: the key {shown} stands there twice")
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            found = super().construct_object(node, deep)
            if isinstance(found, str):
                found.encode()  # half of a surrogate pair could never be printed
        except _NOT_YAML:
            # PyYAML's constructors of numbers and dates: their texts hold the value itself.
            kind = node.tag.rpartition(":")[2]
            raise ConfigError(f"{_line(node)}: cannot be read as {kind}") from None
        return found

    def construct_document(self, node: yaml.Node) -> Any:
        sizes: dict[int, int] = {}
        if _size(node, sizes) - len(sizes) > _MOST_REPEATED:
            raise ConfigError("its aliases repeat too much")
        return super().construct_document(node)


def _line(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}"


def _size(node: yaml.Node, sizes: dict[int, int]) -> int:
    """Return how many nodes there are once every alias is written out."""
    if id(node) in sizes:
        if not sizes[id(node)]:
            raise ConfigError(f"{_line(node)}: contains itself")
        return sizes[id(node)]
    sizes[id(node)] = 0
    children = [] if isinstance(node, yaml.ScalarNode) else node.value
    if isinstance(node, yaml.MappingNode):
        children = [one for pair in children for one in pair]
    sizes[id(node)] = 1 + sum(_size(child, sizes) for child in children)
    return sizes[id(node)]


def load(path: Path) -> Settings:
    """Read the configuration, apply the environment, check everything.

    Returns:
        The settings, with the lake's folder made absolute (from the file's own folder).
    """
    content = read_yaml(path)
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: must be a mapping with the key clusters")
    _check_environment()
    try:
        return Settings(**content).relative_to(path.resolve().parent)
    except ValidationError as error:
        raise ConfigError("\n".join(problem_lines(path, error))) from None
    except (TypeError, ValueError, OverflowError) as error:
        # An override that is not the JSON it should be, a number beyond every limit.
        raise ConfigError(f"{path}: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: {_TOO_DEEP}") from None


def read_yaml(path: Path) -> Any:
    """Read a YAML file in which each key may stand once only."""
    try:
        with path.open(encoding="utf-8") as file:
            text = file.read(_LARGEST_BYTES)
            if file.read(1):
                raise ConfigError(f"{path}: is larger than {_LARGEST_BYTES >> 20} MB")
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(
            f"{path}: cannot be read ({reason}); --config names the configuration file, "
            "config/example.yaml shows one"
        ) from None
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader with one more check)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        problem = getattr(error, "problem", None) or "is not YAML"
        raise ConfigError(f"{path}: {where}{problem}") from None
    except RecursionError:
        raise ConfigError(f"{path}: {_TOO_DEEP}") from None
    except _NOT_YAML as error:  # its text may hold a value
        raise ConfigError(f"{path}: is not YAML ({type(error).__name__})") from None


def load_from_environment() -> Settings:
    """Read the configuration that ``HEADROOM_CONFIG`` names."""
    path = os.environ.get(CONFIG_VARIABLE)
    if not path:
        raise ConfigError(f"{CONFIG_VARIABLE} is not set: it names the configuration file")
    return load(Path(path))


def _check_environment() -> None:
    for variable in os.environ:
        if not variable.startswith("HEADROOM_") or variable in _OTHER_VARIABLES:
            continue
        section = variable.removeprefix("HEADROOM_").split("__")[0].lower()
        if section not in Settings.model_fields:
            known = ", ".join(f"HEADROOM_{name.upper()}" for name in Settings.model_fields)
            raise ConfigError(f"{variable}: no setting has this name; those known begin {known}")


def _printable(key: str) -> str:
    """Return the beginning of a key, on one line whatever is in it."""
    return "".join(each if each.isprintable() else "\ufffd" for each in key[:_LONGEST_KEY])


def problem_lines(path: Path, error: ValidationError) -> list[str]:
    """Return what is wrong with a file's content, a line each that names the key."""
    lines = []
    for problem in error.errors(include_url=False, include_input=False):
        key = ""
        for part in problem["loc"]:
            if isinstance(part, int):
                key += f"[{part}]"
            elif not part.startswith(("function-", "str", "constrained-")):
                shown = _printable(part)
                key += f".{shown}" if key else shown
        if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            message = "unknown key"
        elif problem["type"] == "missing":
            message = "is missing"
        else:
            message = problem["msg"].removeprefix("Value error, ")
        line = f"{path}: {key}: {message}" if key else f"{path}: {message}"
        if line not in lines:
            lines.append(line)
    return lines
