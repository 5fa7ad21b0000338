"""Errors of the lake."""

from __future__ import annotations


class LakeError(Exception):
    """The lake cannot be used: its text says which table, why, and what to do next."""


class UnreadableTableError(LakeError):
    """A table exists, but its log or its files cannot be read."""


class SchemaError(LakeError):
    """A frame does not fit the table it is meant for."""
