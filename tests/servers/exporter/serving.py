"""The service of the collectors on clusters, and what it serves."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from config.settings import LakeSettings
from lake.storage.store import Lake
from runtime.processes import free_ports
from tests.support import eventually

ROOT = Path(__file__).parents[3]
ALL = "headroom, kafka_exporter, kminion"
INTERVAL_SECONDS = 1.0
BEARER = "of-these-tests"


class Served:
    """A running service and what it serves."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, lake: Lake) -> None:
        self.process = process
        self.port = port
        self.lake = lake

    def get(self, path: str, **headers: str) -> httpx.Response | None:
        try:
            return httpx.get(
                f"http://127.0.0.1:{self.port}{path}", headers=headers, timeout=10, trust_env=False
            )
        except httpx.TransportError:
            return None

    def metrics(self) -> str:
        answer = self.get("/metrics")
        assert answer is not None
        assert answer.status_code == 200
        return answer.text

    def status(self, path: str) -> int | None:
        answer = self.get(path)
        return None if answer is None else answer.status_code

    def ready(self) -> bool:
        assert self.process.poll() is None
        return self.status("/readyz") == 200


@contextmanager
def serving(folder: Path, servers: dict[str, str], *, port: int | None = None) -> Iterator[Served]:
    """Run the service on clusters (name: bootstrap servers) with all names."""
    port = port or free_ports(1)[0]
    folder.mkdir(exist_ok=True)
    clusters = "".join(
        f"  - {{name: {name}, bootstrap_servers: '{address}'}}\n"
        for name, address in servers.items()
    )
    config, token = folder / "headroom.yaml", folder / "token"
    token.write_text(BEARER)
    config.write_text(
        f"clusters:\n{clusters}lake: {{uri: {folder}/lake}}\n"
        f"collectors:\n  poll_interval_seconds: {INTERVAL_SECONDS}\n"
        f"  exporter: {{port: {port}, names: [{ALL}], per_partition: [{ALL}], "
        f"mark_token: {{file: {token}}}}}\n",
        encoding="utf-8",
    )
    # Into a pipe that nobody reads much of: a file would be subject to the limit of one test.
    process = subprocess.Popen(
        [sys.executable, "-m", "collectors", "run", "--config", str(config)],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    served = Served(process, port, Lake(LakeSettings(uri=str(folder / "lake"))))
    try:
        eventually(served.ready, timeout_seconds=60, what="ready service")
        yield served
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


def value(text: str, name: str, *labels: str) -> float | None:
    """Return the value of the one series of that name with those labels among its own."""
    lines = [
        line
        for line in text.splitlines()
        if re.match(rf"{name}[ {{]", line) and all(label in line for label in labels)
    ]
    assert len(lines) <= 1, lines
    return float(lines[0].rpartition(" ")[2]) if lines else None
