"""Tokens by a function of the user's own, with the conventions of confluent-kafka's ``oauth_cb``.

What such a function raises or returns may hold a token, so none of it reaches a message: only
names of types, and the line where it went wrong.
"""

from __future__ import annotations

import importlib
import math
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from collectors.errors import SecurityError, SettingsError
from collectors.kafka.protocol.sasl.settings import TokenCallback
from collectors.kafka.protocol.sasl.token import Token, is_token

_EXTENSION = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"[\x21-\x7e \t\r\n]+")  # RFC 7628, 3.1
_SECONDS_BELOW = 1e11
"""Of milliseconds since 1970 this is the year 1973, of seconds the year 5138."""


def find_callback(name: str, config: str) -> TokenCallback:
    """Import the function that a configuration names.

    Args:
        name: ``package.module:function``.
        config: What it is called with.

    Raises:
        SettingsError: There is none, or its module cannot be imported.
    """
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function, None)
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"oauth_callback: there is no module {error.name}; install its package, or put its "
            "folder into PYTHONPATH"
        ) from None
    except (Exception, SystemExit) as error:
        raise SettingsError(
            f"oauth_callback: {module} cannot be imported: {_place(error)}"
        ) from None
    if not callable(found):
        raise SettingsError(f"oauth_callback: {module} has no function {function}")
    return TokenCallback(name=name, function=found, config=config)


def ask_callback(callback: TokenCallback) -> Token:
    """Call the function.

    Raises:
        SecurityError: It raised an error, or returned no token that is valid now.
    """
    try:
        found = callback.function(callback.config)
    except BaseException as error:  # SystemExit too: it ends a thread without a word
        raise SecurityError(f"oauth_callback: {callback.name} raised {_place(error)}") from None
    fault = _fault(found)
    if fault is not None:
        raise SecurityError(f"oauth_callback: {callback.name} {fault}")
    text, expiry, *more = found
    life = expiry - time.time()
    if life <= 0:
        raise SecurityError(
            f"oauth_callback: {callback.name} gave a token that expired {-life:.0f} s ago"
        )
    return Token(text=text, life_seconds=life, extensions=dict(more[1] or {}) if more else {})


def _fault(found: Any) -> str | None:
    """Say what is wrong with what a callback returned; None: nothing is."""
    if not isinstance(found, tuple | list) or len(found) not in (2, 4):
        return (
            f"returned {type(found).__name__}; it must return a token and when it expires, as "
            "seconds since 1970"
        )
    text, expiry = found[0], found[1]
    if not is_token(text):
        return "returned no token; it must be text of letters, digits and -._~+/="
    if isinstance(expiry, bool) or not isinstance(expiry, int | float) or not math.isfinite(expiry):
        return "returned no time at which its token expires; it must be seconds since 1970"
    if expiry >= _SECONDS_BELOW:
        return "returned milliseconds; a token's expiry must be seconds since 1970"
    if len(found) == 4 and not _is_extensions(found[3]):
        return "returned wrong extensions; they must map names of letters to texts"
    return None


def _is_extensions(found: Any) -> bool:
    if found is None:
        return True
    return isinstance(found, Mapping) and all(
        isinstance(name, str)
        and isinstance(value, str)
        and _EXTENSION.fullmatch(name)
        and name != "auth"
        and _EXTENSION_VALUE.fullmatch(value)
        for name, value in found.items()
    )


def _place(error: BaseException) -> str:
    """Return an error's type and the line of the user's code where it passed, without its text."""
    found = type(error).__name__
    trace = error.__traceback__
    here = {__file__, importlib.__file__}
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file not in here and not file.startswith("<frozen"):
            return f"{found} at line {trace.tb_lineno} of {Path(file).name}"
        trace = trace.tb_next
    return found
