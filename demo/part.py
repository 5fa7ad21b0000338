"""A server beside the brokers as a part of the running demo."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from pathlib import Path

from runtime.errors import RuntimeSetupError
from runtime.processes import Child, ProcessGroup
from runtime.services import Service, launch

START_SECONDS = 180.0
"""How long a server may take on a machine that starts everything else at the same time."""
ASK_SECONDS = 1.0


class Part(ABC):
    """Programs that are started, set up once they are ready, and not started again: a demo without.

    Attributes:
        title: What messages call it.
    """

    title: str

    def __init__(self) -> None:
        self._children: list[Child] = []
        self._processes: ProcessGroup | None = None
        self._logs = Path()
        self._works = False
        self._give_up_at = self._ask_again_at = 0.0

    @abstractmethod
    def set_up(self) -> bool:
        """Do what is to be done as soon as it is ready; return whether it was.

        Raises:
            RuntimeSetupError: That did not work; it is tried again.
        """

    def launch(self, processes: ProcessGroup, logs: Path, *services: Service) -> None:
        """Start programs; :meth:`look_after` does the rest."""
        self._processes, self._logs = processes, logs
        self._give_up_at = time.monotonic() + START_SECONDS
        for service in services:
            self.launch_more(service)

    def launch_more(self, service: Service) -> None:
        """Start a further program."""
        if self._processes is not None:
            self._children.append(launch(self._processes, service, self._logs))

    def look_after(self) -> str | None:
        """Set it up as soon as it is ready; call it often.

        Returns:
            Why it is not in this demo any more, once, where it failed.
        """
        now = time.monotonic()
        if not self._children or now < self._ask_again_at:
            return None
        self._ask_again_at = now + ASK_SECONDS
        ended = [child.exit_report() for child in self._children if not child.alive]
        if ended:
            return self._given_up(ended[0])
        reason = f"not ready after {START_SECONDS:.0f} s"
        try:
            self._works = self._works or self.set_up()
        except RuntimeSetupError as error:  # such as a rebalance of the group: tried again
            reason = str(error)
        return None if self._works or now < self._give_up_at else self._given_up(reason)

    def _given_up(self, reason: str) -> str:
        self.close()
        return f"the demo goes on without {self.title}: {reason}"

    def close(self) -> None:
        """End it at once."""
        if self._processes is not None:
            self._processes.stop(*self._children, grace_seconds=0)
        self._children.clear()
