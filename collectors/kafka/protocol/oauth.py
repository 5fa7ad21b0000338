"""Tokens for SASL OAUTHBEARER, by OpenID Connect's client credentials."""

from __future__ import annotations

import threading
import time

import httpx
from kafka.net.sasl.oauth import AbstractTokenProvider

from collectors.errors import SecurityError
from collectors.kafka.protocol.properties import OAuth

_USED_FOR = 0.8  # of a token's life


class Tokens:
    """The token of one cluster, fetched anew before it ends; for any number of threads."""

    def __init__(self, oauth: OAuth) -> None:
        self.oauth = oauth
        self._lock = threading.Lock()
        self._token = ""
        self._good_until = 0.0

    def current(self, timeout_seconds: float) -> str:
        """Return a token that is still good for a while."""
        with self._lock:
            if time.monotonic() >= self._good_until:
                self._token, life_seconds = _fetch(self.oauth, timeout_seconds)
                self._good_until = time.monotonic() + life_seconds * _USED_FOR
            return self._token

    def forget(self) -> None:
        """Let the next connection fetch another token: a broker has refused this one."""
        with self._lock:
            self._good_until = 0.0


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """Hands a token to kafka-python's mechanism."""

    def __init__(self, tokens: Tokens, timeout_seconds: float) -> None:
        self._tokens = tokens
        self._timeout_seconds = timeout_seconds

    def token(self) -> str:
        """Return a token."""
        return self._tokens.current(self._timeout_seconds)

    def extensions(self) -> dict[str, str]:
        """Return what is sent along with the token."""
        return dict(self._tokens.oauth.extensions)


def _fetch(oauth: OAuth, timeout_seconds: float) -> tuple[str, float]:
    """Return a token and how long it lives in seconds; 0 where nobody says."""
    form = {"grant_type": "client_credentials"}
    if oauth.scope:
        form["scope"] = oauth.scope
    try:
        answer = httpx.post(
            oauth.token_url,
            data=form,
            auth=(oauth.client_id, oauth.client_secret),
            timeout=timeout_seconds,
            verify=oauth.ca_file or True,
        )
        answer.raise_for_status()
        found = answer.json()
        return str(found["access_token"]), float(found.get("expires_in") or 0.0)
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
