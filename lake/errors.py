"""Errors of the lake."""

from __future__ import annotations

import re


class LakeError(Exception):
    """The lake cannot be used: its text says which table, why, and what to do next."""


class UnreadableTableError(LakeError):
    """A table exists, but its log or its files cannot be read."""


class SchemaError(LakeError):
    """A frame does not fit the table it is meant for."""


class BusyError(LakeError):
    """Another process does the same job on the same lake."""


class LeaseLostError(LakeError):
    """Another process has taken over: this one must not write any more."""


def one_line(error: BaseException) -> str:
    """Return what an error says as one plain line of at most 500 characters.

    The libraries below colour and indent the causes of an object store's failure.
    """
    plain = re.sub(r"\x1b\[[0-9;]*m|↳", "", str(error))
    text = " ".join(plain.split())
    return text[:500] if text else type(error).__name__
