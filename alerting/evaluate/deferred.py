"""Groups that need no full classification; their partitions get it where somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

from alerting.status.model import GroupStatus, LagNumbers, PartitionStatus, Status, StatusRules
from alerting.status.on_time import late, on_time
from alerting.status.phrases import duration


class PartitionsClassifiedLater(Sequence[PartitionStatus]):
    """Partitions that are classified at the first look at them."""

    def __init__(self, classify: Callable[[], GroupStatus]) -> None:
        self._classify = classify
        self._classified: Sequence[PartitionStatus] | None = None

    def _found(self) -> Sequence[PartitionStatus]:
        if self._classified is None:
            self._classified = self._classify().partitions
        return self._classified

    @overload
    def __getitem__(self, index: int) -> PartitionStatus: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[PartitionStatus]: ...

    def __getitem__(self, index: int | slice) -> PartitionStatus | Sequence[PartitionStatus]:
        return self._found()[index]

    def __len__(self) -> int:
        return len(self._found())

    def __iter__(self) -> Iterator[PartitionStatus]:
        return iter(self._found())


def stale(age: float, at: float) -> GroupStatus:
    """Return the status of a group whose newest sample is that old."""
    reason = f"Unknown: the newest sample is {duration(age)} old."
    return GroupStatus(
        status=Status.UNKNOWN,
        reason=reason,
        since=at,
        numbers=LagNumbers(),
    )


def surely_ok(
    numbers: LagNumbers, unknown: int, parts: Sequence[PartitionStatus], rules: StatusRules
) -> GroupStatus:
    """Return the status of a group that is OK without a doubt."""
    return GroupStatus(
        status=Status.OK,
        reason=f"{on_time(numbers, rules)}: {late(numbers.lag or 0, None)}.",
        numbers=numbers,
        unknown_partitions=unknown,
        partitions=parts,
    )
