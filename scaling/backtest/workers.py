"""Work spread over processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Self, TypeVar

from runtime.spawning import nameless_main

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

    def __exit__(self, *_: object) -> None:
        """End the processes; tasks that have not begun are dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def map(self, call: Callable[[_Task], _Found], tasks: Sequence[_Task]) -> Iterator[_Found]:
        """Yield what a function makes of each task, in their order."""
        if self._pool is None:
            return map(call, tasks)
        with nameless_main():
            return self._pool.map(call, tasks)
