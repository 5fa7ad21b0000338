"""Errors of the demo package."""

from __future__ import annotations

from runtime.errors import RuntimeSetupError


class DemoError(RuntimeSetupError):
    """The demo cannot go on; the message is one line for the user's terminal."""


class ClusterError(DemoError):
    """The local Kafka cluster did not do what was asked of it."""


class NotRunningError(DemoError):
    """A command for a running demo found none."""
