"""Secrets: named in the configuration, kept in the environment or in files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, SecretStr

HOW = "write {env: NAME} or {file: PATH}"


def resolve_secret(value: Any) -> SecretStr:
    """Turn ``{env: NAME}`` or ``{file: PATH}`` into the secret that it names.

    Raises:
        ValueError: The secret is written out in the configuration, or cannot be found.
    """
    if isinstance(value, SecretStr):
        return value
    if not isinstance(value, dict) or len(value) != 1 or not set(value) <= {"env", "file"}:
        raise ValueError(f"a secret must come from the environment or a file: {HOW}")
    ((source, name),) = value.items()
    if source == "env":
        secret = os.environ.get(str(name))
        if not secret:
            raise ValueError(f"the environment variable {name} is not set")
        return SecretStr(secret)
    try:
        return SecretStr(Path(str(name)).read_text(encoding="utf-8").rstrip("\r\n"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ValueError(f"the secret's file {name} cannot be read: {reason}") from None


Secret = Annotated[SecretStr, BeforeValidator(resolve_secret)]
"""A secret that a configuration names by ``{env: NAME}`` or ``{file: PATH}``."""
