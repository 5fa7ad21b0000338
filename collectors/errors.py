"""What can go wrong while a source is read."""

from __future__ import annotations

from copy import copy
from typing import Self


class CollectorError(Exception):
    """A source could not be read.

    Its text is one line for the person who operates the source: what failed, and what to do where
    that is known. It never contains a secret.
    """

    def again(self) -> Self:
        """Return a copy, to be raised in place of an error that is kept.

        One that is raised keeps all that was read so far, by the frames of its traceback.
        """
        return copy(self)


class SettingsError(CollectorError):
    """A cluster's settings cannot work, whatever the cluster does."""


class UnreachableError(CollectorError):
    """No connection to a server: refused, no route, no such host name."""


class SecurityError(CollectorError):
    """The server refused the credentials, or the two ends disagree on encryption."""


class NoAnswerError(CollectorError):
    """The server did not answer in time."""


class ThrottledError(NoAnswerError):
    """The server asks this client to wait longer than there was time: a quota is used up."""


class SwitchedOffError(CollectorError):
    """The settings say that this is not read; nothing is wrong."""


class RefusedError(CollectorError):
    """The server does not permit it: a right is missing."""


class UnsupportedError(CollectorError):
    """The server is too old for the request."""


class ProtocolError(CollectorError):
    """The server's answer could not be understood."""


class OddAnswerError(ProtocolError):
    """An answer came whole and makes no sense: others on the same connection may."""


OF_ONE_REQUEST = (UnsupportedError, OddAnswerError)
"""Failures of a request that say nothing about the connection, or about others that were asked."""
