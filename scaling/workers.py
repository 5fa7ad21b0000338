"""Work spread over processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from types import ModuleType, TracebackType
from typing import Self, TypeVar

_Task = TypeVar("_Task")
_Found = TypeVar("_Found")


class Workers:
    """Processes that call a function of some module; with one process the calling one does it."""

    def __init__(self, processes: int) -> None:
        """Prepare; the processes begin with the first tasks."""
        # Spawned, not forked: a fork of a process with threads may stand still.
        self._pool = (
            ProcessPoolExecutor(processes, mp_context=get_context("spawn"))
            if processes > 1
            else None
        )

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the processes; tasks that have not begun are dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def map(self, call: Callable[[_Task], _Found], tasks: Sequence[_Task]) -> Iterator[_Found]:
        """Yield what a function makes of each task, in their order."""
        if self._pool is None:
            return map(call, tasks)
        with _nameless_main():
            return self._pool.map(call, tasks)


@contextmanager
def _nameless_main() -> Iterator[None]:
    """Keep the main module from processes that are spawned meanwhile.

    A spawned process begins by running its parent's main file. Nothing here needs it, and what
    stands in its place may be a page that Streamlit left there, or a script without a guard.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
