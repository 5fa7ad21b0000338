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

_OTHER_VARIABLES = frozenset({CONFIG_VARIABLE, "HEADROOM_CACHE", "HEADROOM_IVY_SETTINGS"})


class _Loader(yaml.SafeLoader):
    """YAML in which a key may stand once only; the standard takes the last one silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                line = key.start_mark.line + 1
                raise ConfigError(f"line {line}: the key {key.value} stands there twice")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def load(path: Path) -> Settings:
    """Read the configuration, apply the environment, check everything.

    Args:
        path: The YAML file.

    Returns:
        The settings, with the lake's folder made absolute (from the file's own folder).

    Raises:
        ConfigError: The file cannot be read or says something that cannot be used.
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
    except (TypeError, ValueError) as error:  # an override that is not the JSON it should be
        raise ConfigError(f"{path}: {error}") from None


def read_yaml(path: Path) -> Any:
    """Read a YAML file in which each key may stand once only.

    Raises:
        ConfigError: The file cannot be read or is not YAML.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); --config names the configuration file, "
            "config/example.yaml shows one"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text") from None
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader with one more check)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark is not None else ""
        problem = getattr(error, "problem", None) or "is not YAML"
        raise ConfigError(f"{path}: {where}{problem}") from None


def load_from_environment() -> Settings:
    """Read the configuration that ``HEADROOM_CONFIG`` names.

    Raises:
        ConfigError: The variable is not set, or the file cannot be used.
    """
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


def problem_lines(path: Path, error: ValidationError) -> list[str]:
    """Return what is wrong with a file's content, a line each that names the key."""
    lines = []
    for problem in error.errors(include_url=False, include_input=False):
        key = ""
        for part in problem["loc"]:
            if isinstance(part, int):
                key += f"[{part}]"
            elif not part.startswith(("function-", "str", "constrained-")):
                key += f".{part}" if key else part
        if problem["type"] == "extra_forbidden":
            message = "unknown key"
        elif problem["type"] == "missing":
            message = "is missing"
        else:
            message = problem["msg"].removeprefix("Value error, ")
        line = f"{path}: {key}: {message}" if key else f"{path}: {message}"
        if line not in lines:
            lines.append(line)
    return lines
