"""The partitions of a group that is OK without a doubt, classified only where somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

from alerting.status.model import GroupStatus, PartitionStatus


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
