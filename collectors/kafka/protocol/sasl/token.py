"""A token of SASL OAUTHBEARER."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
