"""What an event may do to a simulation: the interface between a workload and the simulator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Protocol


class Interventions(Protocol):
    """A running simulation, as far as events may change it; ``simulation.simulator`` is one."""

    @property
    def now(self) -> float:
        """The time of the simulation, in seconds."""

    @property
    def working_members(self) -> tuple[int, ...]:
        """Slots of the members that are there and well."""

    def scale(self, count: int) -> None:
        """Ask for a number of consumers."""

    def lose_member(self, slot: int, *, back_after_seconds: float | None = None) -> None:
        """Let a member vanish, for good or for a time."""

    def restart_member(self, slot: int, *, back_after_seconds: float) -> None:
        """Let a member leave in order and come back."""

    def rebalance(self) -> None:
        """Assign the partitions anew."""

    def set_capacity(self, factor: float) -> None:
        """Multiply the rate of every consumer, against the workload's."""

    def set_member_capacity(self, slot: int, factor: float) -> None:
        """Multiply the rate of one consumer, against the workload's."""

    def freeze(self, *partitions: int) -> None:
        """Let partitions stand still."""

    def thaw(self, *partitions: int) -> None:
        """Let frozen partitions go on."""

    def reset_offsets(
        self, to: Literal["earliest", "latest"] | float, partitions: Iterable[int] | None = None
    ) -> None:
        """Set committed offsets and positions."""

    def forget_offsets(self) -> None:
        """Let the group's committed offsets be gone."""

    def cut_log(self, messages: float, partitions: Iterable[int] | None = None) -> None:
        """Take the newest messages away."""

    def recreate_topics(self) -> None:
        """Delete the topics and create them anew."""

    def add_partitions(self, count: int) -> None:
        """Raise the only topic's number of partitions."""
