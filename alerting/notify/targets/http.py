"""JSON over HTTP, for the targets that take it."""

from __future__ import annotations

import ssl
import time
from email.utils import parsedate_to_datetime
from http.client import responses

import httpx

from alerting.errors import DeliveryError
from config.alerting import TargetSettings


class HttpClient:
    """Posts JSON; what goes wrong is reported without addresses, which may hold secrets."""

    def __init__(self, settings: TargetSettings) -> None:
        """Read the address; the client is made with the first message."""
        secret_address = settings.address
        self.url = settings.url or (secret_address.get_secret_value() if secret_address else "")
        self._settings = settings
        self._client: httpx.Client | None = None

    def post(self, path: str, content: bytes, headers: dict[str, str] | None = None) -> str:
        """Post a body and return the status; nothing else of the answer is read or kept."""
        if self._client is None:
            # Not at the start: what one target lacks must not stop the service, and may come yet.
            self._client = _client(self._settings)
        try:
            with self._client.stream(
                "POST",
                self.url.rstrip("/") + path if path else self.url,
                content=content,
                headers={"Content-Type": "application/json", **(headers or {})},
            ) as answer:
                status, retry_after = answer.status_code, answer.headers.get("Retry-After")
        except httpx.TimeoutException:
            raise DeliveryError(f"no answer within {self._settings.timeout_seconds:g} s") from None
        except httpx.InvalidURL:
            raise DeliveryError("its address is not a URL") from None
        except httpx.HTTPError as error:
            raise DeliveryError(f"cannot be reached: {type(error).__name__}") from None
        # The usual phrase and not the server's, which may repeat the credentials that it was sent.
        said = f"HTTP {status} {responses.get(status, '')}".rstrip()
        if 200 <= status < 300:
            return said
        raise DeliveryError(said, _retry_after(retry_after))


def _client(settings: TargetSettings) -> httpx.Client:
    """Return a client with the target's credentials.

    Raises:
        DeliveryError: There can be none with these settings.
    """
    auth = None
    if settings.username is not None and settings.password is not None:
        auth = httpx.BasicAuth(settings.username, settings.password.get_secret_value())
    headers = {}
    if settings.token is not None:
        headers["Authorization"] = f"Bearer {settings.token.get_secret_value()}"
    verify: ssl.SSLContext | bool = True
    try:
        if settings.ca_file is not None:
            verify = ssl.create_default_context(cafile=str(settings.ca_file))
    except OSError as error:  # an ssl.SSLError is one
        raise DeliveryError(f"{settings.ca_file}: {error.strerror}") from None
    return httpx.Client(auth=auth, headers=headers, timeout=settings.timeout_seconds, verify=verify)


def _retry_after(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
