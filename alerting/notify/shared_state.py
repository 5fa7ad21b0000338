"""The state of alerts for services that share no disk: through the lake.

The alerting service owns the state. After each evaluation it writes a copy into the lake, which
dashboards and commands read. What they want, they put beside it as small files; the service applies
each and removes it once the copy holds it. Of two services one works, by a lease in the lake, and
the other one waits and goes on from the copy.
"""

from __future__ import annotations

import gzip
import logging
import secrets
import threading
import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from alerting.errors import AlertingError, StoreError
from alerting.notify.requests import Request, new_number
from alerting.notify.store import AlertStore
from config.settings import LakeSettings, Settings
from lake.errors import BusyError, LakeError, LeaseLostError
from lake.maintenance.lease import Hold, Rhythm, only_one
from lake.storage.shared_files import SharedFiles

_COPY = "state.sqlite.gz.base64"
_ORIGIN = "copy"
_LOOK_AGAIN_SECONDS = 2.0
_MOST_REQUESTS = 1000
_log = logging.getLogger(__name__)


class SharedState:
    """The copy of the state in the lake, and what is asked of its owner."""

    def __init__(self, settings: LakeSettings) -> None:
        self._files = SharedFiles(settings, "alerting/state")
        self._requests = SharedFiles(settings, "alerting/requests")
        self._published: str | None = None

    # What everybody does ------------------------------------------------------------------------

    def read(self) -> AlertStore | None:
        """Return the state with what was asked since; None where no service has written any.

        Raises:
            LakeError: The lake cannot be read.
            StoreError: The copy cannot be read.
        """
        # Requests first: one that is removed meanwhile is in the copy.
        asked = self._asked()
        copy = self._files.get(_COPY)
        if copy is None and not asked:
            return None
        store = AlertStore.of_copy(None if copy is None else _unpacked(copy))
        for name, request in asked.items():
            try:
                if isinstance(request, Request):
                    request.apply(store)
            except (ValueError, OverflowError) as error:
                _log.warning("%s: %s", name, error)
        return store

    def ask(self, request: Request) -> None:
        """Ask the service for something; it is read with the state from now on.

        Raises:
            LakeError: It cannot be written.
        """
        name = f"{int(request.at * 1000):015d}-{secrets.token_hex(8)}.json"
        self._requests.put(name, request.to_json())

    # What the service does ----------------------------------------------------------------------

    def restore(self, path: Path) -> None:
        """Take the state of the service that worked last, if that was another one.

        Raises:
            LakeError: The lake cannot be read.
            StoreError: The copy cannot be read.
        """
        copy = self._files.get(_COPY)
        if copy is None:
            return
        content = _unpacked(copy)
        theirs = _origin(AlertStore.of_copy(content))
        if path.exists():
            own = AlertStore(path)
            try:
                # The file here may be ahead of the copy that was made of it.
                is_ours = theirs["id"] in _origin(own).values()
            finally:
                own.close()
            if is_ours:
                self._published = str(theirs["id"])
                return
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self._published = str(theirs["id"])
        _log.info("the state of alerts is that of the service that worked before")

    def take(self, store: AlertStore) -> list[str]:
        """Apply what was asked, and return the names of these requests, for ``publish``.

        Raises:
            LakeError: The lake cannot be read.
            StoreError: The store cannot be written.
        """
        asked = self._asked()
        for name, request in asked.items():
            try:
                if not isinstance(request, Request):
                    raise ValueError(request)
                request.apply(store)
            except (ValueError, OverflowError) as error:
                _log.error("a request is left out: %s: %s", name, error)
        return list(asked)

    def publish(self, store: AlertStore, taken: list[str]) -> None:
        """Write the copy, and remove the requests that it holds.

        Raises:
            LakeError: The lake cannot be written.
            StoreError: The store cannot be read.
        """
        before = _origin(store)["id"] if self._published is None else self._published
        own = secrets.token_hex(8)
        store.note(_ORIGIN, {"id": own, "before": before})
        self._files.put(_COPY, b64encode(gzip.compress(store.copy(), compresslevel=1)))
        self._published = own
        for name in taken:
            self._requests.remove(name)

    def _asked(self) -> dict[str, Request | str]:
        found: dict[str, Request | str] = {}
        for name in self._requests.names()[:_MOST_REQUESTS]:
            content = self._requests.get(name)
            try:
                if content is not None:
                    found[name] = Request.from_json(content)
            except ValueError as error:
                found[name] = str(error)
        return found


def is_shared(settings: Settings) -> bool:
    """Return whether the state goes through the lake: as set, else in an object store."""
    shared = settings.alerting.shared
    return not settings.lake.is_local if shared is None else shared


def read_state(settings: Settings) -> AlertStore | None:
    """Return the state of alerts; None where no service has written any.

    Raises:
        AlertingError: It cannot be read.
    """
    path = Path(settings.alerting.state)
    if not is_shared(settings):
        return AlertStore(path) if path.exists() else None
    try:
        return SharedState(settings.lake).read()
    except LakeError as error:
        raise AlertingError(str(error)) from error


def ask(settings: Settings, request: Request) -> int:
    """Do what somebody wants, or ask the service for it.

    Returns:
        The number of the silence; 0 where there was nothing to do.

    Raises:
        ValueError: It cannot be done.
        AlertingError: It cannot be written.
    """
    if not is_shared(settings):
        store = AlertStore(Path(settings.alerting.state))
        try:
            return request.apply(store)
        finally:
            store.close()
    if request.kind == "silence":
        request = replace(request, number=new_number())
    known = read_state(settings) or AlertStore.of_copy(None)
    done = request.apply(known)  # refused here, where somebody reads why
    try:
        SharedState(settings.lake).ask(request)
    except LakeError as error:
        raise AlertingError(str(error)) from error
    return done


@contextmanager
def only_service(
    settings: Settings,
    ended: threading.Event,
    lost: Callable[[LeaseLostError], None],
    rhythm: Rhythm | None = None,
) -> Iterator[Hold | None]:
    """Wait until no other alerting service works on this lake.

    Args:
        settings: All settings.
        ended: Ends the wait.
        lost: Called, in another thread, if another service has taken over.
        rhythm: How the lease is kept.

    Yields:
        The right to work; None where the wait was ended, or the state is not shared.

    Raises:
        LakeError: The lake cannot be used.
    """
    with ExitStack() as held:
        hold: Hold | None = None
        waits = False
        while is_shared(settings) and hold is None and not ended.is_set():
            try:
                hold = held.enter_context(
                    only_one(settings.lake, "alerting", lost=lost, rhythm=rhythm)
                )
            except BusyError as error:
                if not waits:
                    _log.info("waiting: %s", error)
                waits = True
                ended.wait(_LOOK_AGAIN_SECONDS)
        yield hold


def _origin(store: AlertStore) -> dict[str, object]:
    found = store.noted(_ORIGIN) or {}
    return {"id": found.get("id", ""), "before": found.get("before", "")}


def _unpacked(copy: bytes) -> bytes:
    try:
        content = gzip.decompress(b64decode(copy.strip(), validate=True))
        if not content:
            raise ValueError("it is empty")
        return content
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise StoreError(f"the copy of the state in the lake is damaged: {error}") from error
