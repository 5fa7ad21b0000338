"""Secrets: named in the configuration, kept in the environment or in files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, SecretStr

from config.stamp import Stamp, stamp_of

HOW = "write {env: NAME} or {file: PATH}"
HIDDEN = "***"

# Shorter ones would tear texts to pieces.
_SHORTEST_HIDDEN = 6
_hidden: set[str] = set()


class FileSecret(SecretStr):
    """A secret that was read from a file.

    Attributes:
        file: The file.
        stamp: What the file was like just before.
    """

    def __init__(self, secret: str, file: Path, stamp: Stamp | None) -> None:
        super().__init__(secret)
        self.file = file
        self.stamp = stamp


def file_secrets(settings: Any) -> Iterator[FileSecret]:
    """Return the secrets of settings that were read from files."""
    if isinstance(settings, FileSecret):
        yield settings
    elif isinstance(settings, BaseModel):
        yield from file_secrets(dict(settings))
    elif isinstance(settings, dict):
        yield from file_secrets(list(settings.values()))
    elif isinstance(settings, list):
        for each in settings:
            yield from file_secrets(each)


def resolve_secret(value: Any) -> SecretStr:
    """Turn ``{env: NAME}`` or ``{file: PATH}`` into the secret that it names.

    Blanks and line ends around it are left out: files and Kubernetes' secrets often end in one.

    Raises:
        ValueError: The secret is written out in the configuration, or cannot be found.
    """
    if isinstance(value, SecretStr):
        return value
    if not isinstance(value, dict) or len(value) != 1 or not set(value) <= {"env", "file"}:
        raise ValueError(f"a secret must come from the environment or a file: {HOW}")
    ((source, name),) = value.items()
    if source == "env":
        secret = (os.environ.get(str(name)) or "").strip()
        if not secret:
            state = "empty" if str(name) in os.environ else "not set"
            raise ValueError(f"the environment variable {name} is {state}")
        found = SecretStr(secret)
    else:
        file = Path(str(name))
        stamp = stamp_of(file)
        try:
            secret = file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            raise ValueError(f"the secret's file {name} cannot be read: {reason}") from None
        if not secret:
            raise ValueError(f"the secret's file {name} is empty")
        found = FileSecret(secret, file, stamp)
    keep_hidden(secret)
    return found


def keep_hidden(secret: str) -> None:
    """Let ``hide`` know a secret, or a form in which it is sent."""
    if len(secret) >= _SHORTEST_HIDDEN:
        _hidden.add(secret)


def hide(text: str) -> str:
    """Return a text with three stars in place of every secret of the configuration.

    A last line of defence for texts that others wrote: libraries, servers.
    """
    # The longest first: one secret may begin with another.
    for secret in sorted(_hidden, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def one_line(secret: SecretStr) -> SecretStr:
    """Refuse a secret that holds a control character, which nothing sends as it is."""
    if not secret.get_secret_value().isprintable():
        raise ValueError("must be one line of printable characters")
    return secret


def _in_header(secret: SecretStr) -> SecretStr:
    text = secret.get_secret_value()
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise ValueError("must be one line of ASCII characters without blanks")
    return secret


Secret = Annotated[SecretStr, BeforeValidator(resolve_secret)]
"""A secret that a configuration names by ``{env: NAME}`` or ``{file: PATH}``."""

Password = Annotated[Secret, AfterValidator(one_line)]
"""A secret of one line."""

Token = Annotated[Secret, AfterValidator(_in_header)]
"""A secret that is sent in a header."""
