"""The dashboard behind a reverse proxy: login, WebSocket, and who is turned away."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser

from runtime.processes import ProcessGroup, free_ports
from tests.app import generated
from tests.browser import logged_in
from tests.support import eventually, unavailable

pytestmark = pytest.mark.browser


DOCS = Path(__file__).parents[2] / "docs" / "security.md"


def nginx_settings(folder: Path, outside: int, inside: int) -> str:
    """Return the settings of docs/security.md, for these two ports."""
    (location,) = re.findall(r"```nginx\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert "127.0.0.1:8501" in location
    paths = "".join(
        f"    {name}_temp_path {folder}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "scgi", "uwsgi")
    )
    return (
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{\n    access_log {folder}/access.log;\n{paths}"
        f"    server {{\n        listen 127.0.0.1:{outside};\n"
        f"{location.replace('127.0.0.1:8501', f'127.0.0.1:{inside}')}    }}\n}}\n"
    )


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int, Path]]:
    """The address of a real proxy, the dashboard's own port, and the proxy's log."""
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if nginx is None:
        unavailable("nginx is not installed (Debian: apt-get install nginx-light)")
    folder: Path = tmp_path_factory.mktemp("proxied")
    generated.settings_yaml(folder)
    outside, inside = free_ports(2)
    (folder / "nginx.conf").write_text(nginx_settings(folder, outside, inside))
    url = f"http://localhost:{outside}"
    with ProcessGroup() as processes:
        command = [nginx, "-p", str(folder), "-c", str(folder / "nginx.conf")]
        processes.start("nginx", command, log=folder / "nginx.log")
        with (
            logged_in.provider() as metadata,
            logged_in.dashboard(folder, metadata, url=url, port=inside) as base,
        ):
            yield base, inside, folder / "access.log"


def upgrade(port: int, host: str, origin: str | None) -> int:
    """Ask for the dashboard's WebSocket and return the status of the answer."""
    lines = [
        "GET /_stcore/stream HTTP/1.1",
        f"Host: {host}",
        *([] if origin is None else [f"Origin: {origin}"]),
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        return int(connection.recv(64).split()[1])


def test_the_login_and_the_pages_work_through_the_proxy(
    browser: Browser, proxied: tuple[str, int, Path]
) -> None:
    base, _, log = proxied
    context, page = logged_in.log_in(browser, base, "ana")
    page.get_by_text("Waiting for the first poll").wait_for(timeout=60_000)
    assert page.url.startswith(base)
    context.close()
    # Written when a WebSocket ends: it was upgraded.
    eventually(lambda: '/_stcore/stream HTTP/1.1" 101' in log.read_text(), what="WebSocket")


def test_no_other_site_may_frame_a_page(proxied: tuple[str, int, Path]) -> None:
    answer = httpx.get(proxied[0], timeout=20)
    assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'none'"


def test_other_names_and_other_sites_are_turned_away(proxied: tuple[str, int, Path]) -> None:
    base, port, _ = proxied
    host = base.removeprefix("http://")
    assert upgrade(port, host, base) == 101
    assert upgrade(port, f"localhost:{port}", f"http://localhost:{port}") == 101
    for wrong_host, wrong_origin in (
        (f"evil.example:{port}", f"http://evil.example:{port}"),
        (f"evil.example:{port}", None),
        (host, "http://evil.example"),
        (host, "null"),
    ):
        assert upgrade(port, wrong_host, wrong_origin) == 403, (wrong_host, wrong_origin)
