"""Jars of pinned digests straight from Maven Central, without Java and without any package.

``python3 -m runtime.maven delta kafka`` runs beside the installation of the packages, so that the
jars are there when Spark and the demo ask for them. What fails here is fetched again by Ivy then.
"""

from __future__ import annotations

import os
import ssl
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runtime.errors import JarsError
from runtime.jars import ensure, pinned_paths
from runtime.jarsets import DELTA, KAFKA, S3, JarSet

CENTRAL = "https://repo1.maven.org/maven2"
_AT_ONCE = 8
_TIMEOUT_SECONDS = 30.0
_PAUSES_SECONDS = (1.0, 3.0)


class MavenResolver:
    """Downloads what the project pins; a set that it does not pin is refused."""

    def __init__(self, base: str = CENTRAL) -> None:
        self._base = base
        own = os.environ.get("PIP_CERT")  # a company's authority, as pip is told of it
        self._trust = ssl.create_default_context(cafile=own)

    def __call__(self, jars: JarSet, folder: Path) -> None:
        """Put every jar of the set into a folder; see ``runtime.jars.Resolver``."""
        paths = pinned_paths(jars)
        if not paths:
            raise JarsError(f"{jars.name}: no digests are pinned")
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(lambda path: self._download(path, folder), paths):
                pass

    def _download(self, path: str, folder: Path) -> None:
        url = f"{self._base}/{path}"
        pauses = list(_PAUSES_SECONDS)
        while True:
            try:
                content = self._read(url)
                break
            except OSError as error:  # the library's own errors are of this kind, too
                if not pauses or isinstance(error, urllib.error.HTTPError):
                    raise JarsError(f"{url}: {error}") from error
                time.sleep(pauses.pop(0))
        (folder / path.rpartition("/")[2]).write_bytes(content)

    def _read(self, url: str) -> bytes:
        answer = urllib.request.urlopen(  # noqa: S310 (a constant, or a test's own server)
            url, timeout=_TIMEOUT_SECONDS, context=self._trust
        )
        with answer:
            return bytes(answer.read())


def main(names: list[str]) -> int:
    """Fetch the named sets; return the exit status."""
    sets = {"delta": DELTA, "kafka": KAFKA, "s3": S3}
    if os.environ.get("HEADROOM_IVY_SETTINGS"):  # a mirror, which Ivy knows how to ask
        return 0
    try:
        for name in names:
            ensure(sets[name], MavenResolver())
    except JarsError as error:
        print(f"set-up: {error}; it is tried again later", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
