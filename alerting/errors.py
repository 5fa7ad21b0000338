"""What can go wrong in the alerting service and its commands."""

from __future__ import annotations


class AlertingError(Exception):
    """Anything below, with one line that says what and where."""


class StoreError(AlertingError):
    """The alert store cannot be read or written."""


class StoreBusyError(StoreError):
    """Another service works on the same alert store."""


class DeliveryError(AlertingError):
    """A target did not take a message.

    Attributes:
        retry_after_seconds: How long the target asked to wait; None where it did not say.
    """

    def __init__(self, message: str, retry_after_seconds: float | None = None) -> None:
        """Keep what the target said."""
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class RuleTestError(AlertingError):
    """A file of rule tests says something that cannot be used."""
