"""Requests to the servers that the demo starts on this machine."""

from __future__ import annotations

from functools import cache
from typing import Any

import httpx

from demo.errors import DemoError


def ask(
    method: str,
    url: str,
    body: Any = None,
    *,
    login: tuple[str, str] | None = None,
    timeout_seconds: float,
) -> Any:
    """Send one request and return the JSON of its answer; None where it is empty."""
    try:
        answer = _client().request(method, url, json=body, auth=login, timeout=timeout_seconds)
    except httpx.TransportError as error:
        raise DemoError(f"{method} {url}: no answer: {error}") from None
    if not answer.is_success:
        raise DemoError(f"{method} {url} was answered {answer.status_code}: {answer.text[:300]}")
    return answer.json() if answer.content else None


@cache
def _client() -> httpx.Client:
    """Return the one client: a new one reads all certificate authorities, 20 ms of processor.

    It keeps no connection: the servers are killed and started again.
    """
    return httpx.Client(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))
