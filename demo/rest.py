"""Requests to the servers that the demo starts on this machine."""

from __future__ import annotations

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
        with httpx.Client(trust_env=False, auth=login, timeout=timeout_seconds) as client:
            answer = client.request(method, url, **({} if body is None else {"json": body}))
    except httpx.TransportError as error:
        raise DemoError(f"{method} {url}: no answer: {error}") from None
    if not answer.is_success:
        raise DemoError(f"{method} {url} was answered {answer.status_code}: {answer.text[:300]}")
    return answer.json() if answer.content else None
