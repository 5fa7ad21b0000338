"""Tokens by OpenID Connect's client credentials."""

from __future__ import annotations

import ssl
from pathlib import Path

import httpx

from collectors.errors import SecurityError
from collectors.kafka.protocol.sasl.settings import OAuth
from collectors.kafka.protocol.sasl.token import Token


def ask_server(oauth: OAuth, timeout_seconds: float) -> Token:
    """Ask a token server.

    Raises:
        SecurityError: It gave none.
    """
    form = {"grant_type": "client_credentials"}
    if oauth.scope:
        form["scope"] = oauth.scope
    try:
        answer = httpx.post(
            oauth.token_url,
            data=form,
            auth=(oauth.client_id, oauth.client_secret),
            # Each address of the name has a part of the time: the first one may be dead.
            timeout=httpx.Timeout(timeout_seconds, connect=timeout_seconds / 3),
            verify=_context(oauth),
        )
        answer.raise_for_status()
        found = answer.json()
        return Token(
            text=str(found["access_token"]),
            life_seconds=float(found.get("expires_in") or 0.0),
            extensions=dict(oauth.extensions),
        )
    except httpx.HTTPStatusError as error:
        raise SecurityError(
            f"sasl.oauthbearer.token.endpoint.url: answered {error.response.status_code}; "
            "check sasl.oauthbearer.client.id and its secret"
        ) from None
    except (httpx.HTTPError, OSError) as error:
        raise SecurityError(
            f"sasl.oauthbearer.token.endpoint.url: no token: {type(error).__name__}"
        ) from None
    except (KeyError, TypeError, ValueError):
        raise SecurityError(
            "sasl.oauthbearer.token.endpoint.url: its answer has no access_token"
        ) from None


def _context(oauth: OAuth) -> ssl.SSLContext:
    """Return whom to trust; a file that cannot be read is an OSError."""
    place = oauth.ca_file
    is_folder = place is not None and Path(place).is_dir()
    return ssl.create_default_context(
        cafile=None if is_folder else place,
        capath=place if is_folder else None,
        cadata=oauth.ca_pem,
    )
