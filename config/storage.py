"""The lake's storage: options of an object store, and how long rows are kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta

from pydantic import Field, SecretStr

from config.parts import Section
from config.secret import HOW

_SECRET_OPTION = re.compile(
    r"(?i)(secret|token|password|sas_key|account_key|master_key|service_account_key"
    r"|storage_access_key|^access_key$|credentials?$)"
)
"""Options whose value must never be written into the configuration."""

_DEFAULT_REGION = "us-east-1"


# What has a fixed retention. docs/history.md has a table of these and of the settings below.

ADVICE_KEPT = timedelta(days=90)
"""Advice that was last confirmed longer ago is deleted."""

ADVICE_STATE_KEPT = timedelta(days=1)
"""What was remembered to decide on a group that is not seen any more."""

RECENT_CHANGES_KEPT = timedelta(hours=1)
"""Changes of groups' members that the Overview shows."""

COURSE_KEPT = timedelta(minutes=4)
"""What each of the last evaluations found: longer ago, there is history by the minute."""

ALERT_HISTORY_DAYS = 90.0
"""Resolved alerts, deliveries and ended silences; the default of ``alerting.keep_days``."""

UNUSED_FILES_KEPT = timedelta(hours=3)
"""Files of samples that were compacted or deleted: whoever began to read before goes on."""

COMMITS_KEPT = timedelta(days=1)
"""Single commits of samples: a history job that was away for longer reads all samples again."""


class RetentionSettings(Section):
    """How many days samples and history are kept; null: for ever."""

    raw_days: int | None = Field(default=7, ge=1, description="samples (bronze)")
    minute_days: int | None = Field(default=30, ge=1, description="history by the minute")
    hour_days: int | None = Field(default=400, ge=1, description="history by the hour")
    day_days: int | None = Field(default=None, ge=1, description="history by the day")


def check_options(options: Mapping[str, str | SecretStr]) -> None:
    """Refuse a secret that is written out."""
    for key, value in options.items():
        if _SECRET_OPTION.search(key) and not isinstance(value, SecretStr):
            raise ValueError(f"{key}: a secret must come from the environment or a file: {HOW}")


def object_store_options(uri: str, options: Mapping[str, str | SecretStr]) -> dict[str, str]:
    """Return the options of an object store with the defaults that Headroom relies on.

    Commits of delta-rs are made by conditional puts (``If-None-Match``), so that of two writers of
    one version exactly one succeeds. A store with an address of its own may be without regions
    and without TLS: the one is named as the default, the other is what ``http://`` says.

    Returns:
        All options, secrets in the clear: hand them to a client at once.
    """
    plain = {
        key: value.get_secret_value() if isinstance(value, SecretStr) else value
        for key, value in options.items()
    }
    if not uri.startswith(("s3://", "s3a://")):
        return plain
    defaults = {"aws_conditional_put": "etag"}
    if endpoint := endpoint_of(plain):
        defaults["aws_region"] = _DEFAULT_REGION
        if endpoint.startswith("http://"):
            defaults["aws_allow_http"] = "true"
    return defaults | plain


def endpoint_of(options: Mapping[str, str]) -> str | None:
    """Return the address of an S3-compatible store, None for Amazon's own."""
    return first_of(options, "aws_endpoint_url", "aws_endpoint", "endpoint_url", "endpoint")


def first_of(options: Mapping[str, str], *names: str) -> str | None:
    """Return the first option that is there; their names are not sensitive to case."""
    lower = {key.lower(): value for key, value in options.items()}
    return next((lower[name] for name in names if name in lower), None)
