"""The partitions of a group that is OK without a doubt, judged only where somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

from alerting.status.model import GroupStatus, PartitionStatus


class PartitionsJudgedLater(Sequence[PartitionStatus]):
    """Partitions that are judged at the first look at them."""

    def __init__(self, judge: Callable[[], GroupStatus]) -> None:
        self._judge = judge
        self._judged: Sequence[PartitionStatus] | None = None

    def _found(self) -> Sequence[PartitionStatus]:
        if self._judged is None:
            self._judged = self._judge().partitions
        return self._judged

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
