"""A dashboard with a login, and the provider that it asks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import oidc_provider_mock
import yaml
from playwright.sync_api import Browser, BrowserContext, Page

from runtime.processes import free_ports
from tests.browser.watched import answers
from tests.support import eventually

ROOT = Path(__file__).resolve().parents[2]
CLIENT_SECRET = "client-secret-of-this-test"  # noqa: S105 (of nothing else)
COOKIE_SECRET = "cookie-secret-of-this-test-0123456789"  # noqa: S105

USERS = {
    "ana": ["sre"],
    "ben": ["payments-team"],
    "eve": ["strangers"],
}
"""Who has which groups at the provider."""


def roles() -> list[dict[str, object]]:
    """An operator who sees all, a viewer who sees what begins with payments."""
    return [
        {"name": "operators", "values": ["sre"], "operator": True},
        {
            "name": "payments",
            "values": ["payments-team"],
            "groups": {"include": ["payments.*"]},
            "topics": {"include": ["payments.*"]},
        },
    ]


@contextmanager
def provider() -> Iterator[str]:
    """Run an OpenID Connect provider, and yield the address of its metadata."""
    users = [
        oidc_provider_mock.User(sub=name, claims={"email": f"{name}@example.com", "groups": groups})
        for name, groups in USERS.items()
    ]
    with oidc_provider_mock.run_server_in_thread(user_claims=users) as server:
        yield f"http://localhost:{server.server_port}/.well-known/openid-configuration"


@contextmanager
def dashboard(
    folder: Path, metadata_url: str, *, url: str | None = None, port: int | None = None
) -> Iterator[str]:
    """Run ``python -m app`` on the lake of a folder, with a login.

    Args:
        folder: Where headroom.yaml is; it gets the section app.auth.
        metadata_url: The provider's.
        url: How browsers reach it; none: directly.
        port: Where it listens; none: any.
    """
    port = port or free_ports(1)[0]
    base = url or f"http://localhost:{port}"
    for name, secret in (("client", CLIENT_SECRET), ("cookie", COOKIE_SECRET)):
        (folder / name).write_text(secret)
    path = folder / "headroom.yaml"
    content = yaml.safe_load(path.read_text())
    content["app"] = {
        **content.get("app", {}),
        "auth": {
            "metadata_url": metadata_url,
            "client_id": "headroom",
            "client_secret": {"file": str(folder / "client")},
            "cookie_secret": {"file": str(folder / "cookie")},
            "url": base,
            "roles": roles(),
        },
    }
    path.write_text(yaml.safe_dump(content))
    log = folder / "dashboard.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "app", "--config", str(path), "--port", str(port)],
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            eventually(lambda: answers(f"http://localhost:{port}/_stcore/health"), what="dashboard")
            command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            assert CLIENT_SECRET.encode() not in command
            assert COOKIE_SECRET.encode() not in command
            yield base
        finally:
            process.terminate()
            process.wait(timeout=20)
    said = log.read_text()
    assert "Traceback" not in said, said
    assert CLIENT_SECRET not in said and COOKIE_SECRET not in said


def log_in(browser: Browser, base: str, name: str) -> tuple[BrowserContext, Page]:
    """Log somebody in, in a browser of their own."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(base)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name=name, exact=True).click()
    page.get_by_role("button", name="Log out").wait_for(timeout=60_000)
    return context, page
