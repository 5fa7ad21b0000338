"""What became of a read: a value, or the error that everything depending on it fails with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from collectors.errors import CollectorError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, kw_only=True)
class Outcome(Generic[T_co]):
    """A value, or why there is none.

    Attributes:
        seconds: How long the read took.
    """

    found: T_co | None = None
    error: Exception | None = None
    seconds: float = 0.0

    @property
    def value(self) -> T_co:
        """What was read; where that failed, the same error is raised for everybody."""
        if isinstance(self.error, CollectorError):
            raise self.error.again()
        if self.error is not None:
            raise self.error
        return cast(T_co, self.found)


def attempt(read: Callable[[], T]) -> Outcome[T]:
    """Read something; a failure, or a fault of ours, stops nothing that does without it."""
    begun = time.monotonic()
    try:
        return Outcome(found=read(), seconds=time.monotonic() - begun)
    except CollectorError as error:
        return Outcome(error=error.again(), seconds=time.monotonic() - begun)
    except Exception as error:  # raised again where the value is used, and logged there
        return Outcome(error=error, seconds=time.monotonic() - begun)
