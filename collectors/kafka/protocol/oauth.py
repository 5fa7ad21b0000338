"""Tokens for SASL OAUTHBEARER, by OpenID Connect's client credentials."""

from __future__ import annotations

import httpx
from kafka.net.sasl.oauth import AbstractTokenProvider

from collectors.errors import SecurityError
from collectors.kafka.protocol.properties import OAuth


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """Fetches one token; a new connection fetches a new one."""

    def __init__(self, oauth: OAuth, timeout_seconds: float) -> None:
        self._oauth = oauth
        self._timeout_seconds = timeout_seconds

    def token(self) -> str:
        """Return a token."""
        oauth = self._oauth
        form = {"grant_type": "client_credentials"}
        if oauth.scope:
            form["scope"] = oauth.scope
        try:
            answer = httpx.post(
                oauth.token_url,
                data=form,
                auth=(oauth.client_id, oauth.client_secret),
                timeout=self._timeout_seconds,
                verify=oauth.ca_file or True,
            )
            answer.raise_for_status()
            token = answer.json()["access_token"]
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
        return str(token)

    def extensions(self) -> dict[str, str]:
        """Return what is sent along with the token."""
        return dict(self._oauth.extensions)
