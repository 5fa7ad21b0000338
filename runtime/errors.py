"""Errors of the runtime package. Each message is one line (or one line and a log's tail)."""

from __future__ import annotations


class RuntimeSetupError(Exception):
    """Something that the project needs from this machine is missing or broken.

    The message is made for the user's terminal: what is wrong and what to do about it.
    """


class JavaError(RuntimeSetupError):
    """No usable Java (17 or newer) was found."""


class JarsError(RuntimeSetupError):
    """The jars of Kafka or Delta could not be resolved into the cache folder."""


class ProcessError(RuntimeSetupError):
    """A child process could not be started, died early, or did not become ready in time."""


class PortTakenError(ProcessError):
    """A port that was asked for is in use by another process."""
