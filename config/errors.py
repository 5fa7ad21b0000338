"""Errors of the configuration."""

from __future__ import annotations


class ConfigError(Exception):
    """The configuration cannot be used.

    Its text is one line a problem; each line names the key and says what is wrong with it. It never
    contains a value, since a value may be a secret.
    """
