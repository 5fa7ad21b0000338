"""A token of SASL OAUTHBEARER."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # RFC 6750, 2.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What a connection shows a broker.

    Attributes:
        text: The token.
        life_seconds: How long it is valid from now on; 0: nobody says.
        extensions: What is sent along with it (KIP-342).
    """

    text: str = field(repr=False)
    life_seconds: float
    extensions: Mapping[str, str] = field(default_factory=dict)


def is_token(found: Any) -> TypeGuard[str]:
    """Return whether what somebody gave can be a token."""
    return isinstance(found, str) and _TOKEN.fullmatch(found) is not None
