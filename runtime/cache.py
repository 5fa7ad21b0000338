"""Where downloaded and generated files live between runs."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder for downloads, which need not exist yet.

    Returns:
        ``$HEADROOM_CACHE``, else ``$XDG_CACHE_HOME/headroom``, else ``~/.cache/headroom``.
    """
    variables = os.environ if environment is None else environment
    if own := variables.get("HEADROOM_CACHE"):
        return Path(own).expanduser().absolute()
    if shared := variables.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser().absolute() / "headroom"
    return Path.home() / ".cache" / "headroom"


@contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Hold an advisory lock on a file; another process that asks for it waits.

    The kernel releases the lock when its holder dies, so a killed download blocks nobody.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


def write_atomically(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """Write a file so that a reader sees the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with draft.open("wb") as handle:
            handle.write(content.encode() if isinstance(content, str) else content)
            handle.flush()
            os.fsync(handle.fileno())
        draft.chmod(mode)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
