"""Tokens by OpenID Connect's client credentials."""

from __future__ import annotations

import math
import ssl
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from collectors.errors import CollectorError, SecurityError
from collectors.kafka.protocol.sasl.settings import OAuth
from collectors.kafka.protocol.sasl.token import Token, is_token
from collectors.source.http_client import HttpClient
from config.integrations import HttpSettings

_WHERE = "sasl.oauthbearer.token.endpoint.url"
_REFUSED = (400, 401, 403)


class _Client(HttpClient):
    largest_bytes = 2**20

    def refusal(self, path: str, status: int, body: bytes) -> Exception:
        if status in _REFUSED:
            return SecurityError(
                f"answered {status}; check sasl.oauthbearer.client.id and its secret"
            )
        return super().refusal(path, status, body)


def ask_server(oauth: OAuth, timeout_seconds: float) -> Token:
    """Ask a token server.

    Raises:
        SecurityError: It gave none in time, or none that is valid now.
    """
    try:
        found = _answer(oauth, timeout_seconds)
    except CollectorError as error:
        said = str(error).replace("set ca_file", "set https.ca.location")
        raise SecurityError(f"{_WHERE}: no token: {said}") from None
    except (OSError, ValueError):
        raise SecurityError(
            f"{_WHERE}: no token: check it, and https.ca.location or https.ca.pem"
        ) from None
    if not isinstance(found, dict) or not is_token(text := found.get("access_token")):
        raise SecurityError(f"{_WHERE}: its answer has no access_token")
    return Token(
        text=text,
        life_seconds=_life(found.get("expires_in")),
        extensions=dict(oauth.extensions),
    )


def _answer(oauth: OAuth, seconds: float) -> Any:
    parts = urlsplit(oauth.token_url)
    origin = f"{parts.scheme}://{parts.netloc}"
    settings = HttpSettings(
        name="tokens",
        url=origin,
        username=oauth.client_id,
        password=SecretStr(oauth.client_secret),
    ).model_copy(update={"request_timeout_seconds": seconds})
    form = {"grant_type": "client_credentials"}
    if oauth.scope:
        form["scope"] = oauth.scope
    with closing(_Client(settings, _context(oauth))) as client:
        return client.post(oauth.token_url.removeprefix(origin), form)


def _life(said: Any) -> float:
    """Return for how many seconds a token is valid; 0 where the server does not say."""
    if said is None:
        return 0.0
    try:
        seconds = math.nan if isinstance(said, bool) else float(said)
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise SecurityError(f"{_WHERE}: its answer has an expires_in that is no number of seconds")
    return seconds


def _context(oauth: OAuth) -> ssl.SSLContext:
    """Return whom to trust; a file that cannot be read is an OSError."""
    place = oauth.ca_file
    is_folder = place is not None and Path(place).is_dir()
    return ssl.create_default_context(
        cafile=None if is_folder else place,
        capath=place if is_folder else None,
        cadata=oauth.ca_pem,
    )
