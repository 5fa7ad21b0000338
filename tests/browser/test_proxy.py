"""The dashboard behind a reverse proxy: login, WebSocket, and who is turned away."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from runtime.processes import free_ports
from tests.app import generated
from tests.browser import logged_in

pytestmark = pytest.mark.browser


def _pipe(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(65536):
            target.sendall(content)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


class Proxy:
    """Passes everything on as it is, like a proxy that keeps ``Host`` and upgrades."""

    def __init__(self, port: int, target: int) -> None:
        self._target = target
        self.passed = 0
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                self.passed += 1
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=_pipe, args=pair, daemon=True).start()

    def close(self) -> None:
        self._listener.close()


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int, Proxy]]:
    """The address of the proxy, the dashboard's own port, and the proxy."""
    folder: Path = tmp_path_factory.mktemp("proxied")
    generated.settings_yaml(folder)
    outside, inside = free_ports(2)
    url = f"http://localhost:{outside}"
    proxy = Proxy(outside, inside)
    with (
        logged_in.provider() as metadata,
        logged_in.dashboard(folder, metadata, url=url, port=inside) as base,
    ):
        yield base, inside, proxy
    proxy.close()


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
    browser: Browser, proxied: tuple[str, int, Proxy]
) -> None:
    base, _, proxy = proxied
    before = proxy.passed
    context, page = logged_in.log_in(browser, base, "ana")
    page.get_by_text("Waiting for the first poll").wait_for(timeout=60_000)
    assert page.url.startswith(base)
    assert proxy.passed > before
    context.close()


def test_other_names_and_other_sites_are_turned_away(proxied: tuple[str, int, Proxy]) -> None:
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
