"""An object store for the lake, which fails one call in ten when it is told to."""

from __future__ import annotations

import random
from pathlib import Path

from bench.support.network import Failure, Network
from runtime.java import Java
from tests.servers.s3.server import SECRET, S3Server

_SHARE = 0.1
_METHODS = (b"GET ", b"PUT ", b"POST ", b"HEAD ", b"DELETE ")


class Store:
    """A real server, reached through a proxy that lets requests fail."""

    def __init__(self, java: Java, folder: Path, network: Network, seed: int) -> None:
        """Prepare.

        Args:
            java: What runs it.
            folder: A missing one, for objects, settings and log.
            network: Where its proxy is.
            seed: Decides which requests fail, and how.
        """
        folder.mkdir()
        self._server = S3Server(java, folder)
        self._secret = folder / "secret"
        self._path = network.path(int(self._server.endpoint.rpartition(":")[2]))
        self._dice = random.Random(seed)  # noqa: S311 (failures, no secret)
        self._asked = self._failed = 0

    def start(self) -> None:
        """Start it."""
        self._server.start()

    def lake(self) -> dict[str, object]:
        """Make a bucket, and return the section of the configuration for a lake in it."""
        self._secret.write_text(SECRET)
        settings = self._server.bucket("faults")
        options = {
            **settings.storage_options,
            "aws_endpoint_url": f"http://127.0.0.1:{self._path.port}",
            "aws_secret_access_key": {"file": str(self._secret)},
        }
        return {"uri": settings.uri, "storage_options": options}

    def fail(self) -> None:
        """Let one request in ten fail from now on."""
        self._asked = self._failed = 0
        self._path.failing = self._failure

    def recover(self) -> str:
        """Let all pass, and return how many failed."""
        self._path.failing = None
        return f"{self._failed} of {self._asked} requests to the object store failed"

    def close(self) -> None:
        """End it."""
        self._server.__exit__()

    def _failure(self, piece: bytes) -> Failure | None:
        if not piece.startswith(_METHODS):
            return None  # the rest of a request
        self._asked += 1
        if self._dice.random() >= _SHARE:
            return None
        self._failed += 1
        return self._dice.choice(list(Failure))
