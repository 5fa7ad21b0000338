"""How Spark reaches the lake's object store: S3A's properties from the lake's own options."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from config.settings import LakeSettings
from config.storage import endpoint_of, first_of

_CREDENTIALS = {
    "fs.s3a.access.key": ("aws_access_key_id", "access_key_id"),
    "fs.s3a.secret.key": ("aws_secret_access_key", "secret_access_key"),
    "fs.s3a.session.token": ("aws_session_token", "aws_token", "session_token", "token"),
}


def hadoop_address(uri: str) -> str:
    """Return an address as Hadoop's file systems spell it: S3's begin with ``s3a://``."""
    return "s3a://" + uri.removeprefix("s3://") if uri.startswith("s3://") else uri


def is_s3(lake: LakeSettings) -> bool:
    """Return whether the lake is in S3 or in a store with its interface."""
    return lake.uri.startswith(("s3://", "s3a://"))


def s3a_properties(options: Mapping[str, str]) -> dict[str, str]:
    """Return S3A's properties without credentials, by their names in Hadoop.

    Args:
        options: The lake's options as the object_store library names them.
    """
    found = {}
    if endpoint := endpoint_of(options):
        found["fs.s3a.endpoint"] = endpoint
        found["fs.s3a.connection.ssl.enabled"] = str(endpoint.startswith("https://")).lower()
        hosted = first_of(
            options, "aws_virtual_hosted_style_request", "virtual_hosted_style_request"
        )
        found["fs.s3a.path.style.access"] = str((hosted or "false").lower() != "true").lower()
    if region := first_of(options, "aws_region", "region", "aws_default_region", "default_region"):
        found["fs.s3a.endpoint.region"] = region
    return found


def s3a_credentials(options: Mapping[str, str]) -> dict[str, str]:
    """Return S3A's properties that are secret; none where the machine's own identity is used."""
    found = {name: first_of(options, *theirs) for name, theirs in _CREDENTIALS.items()}
    return {name: value for name, value in found.items() if value is not None}


def give_credentials(session: SparkSession, lake: LakeSettings) -> None:
    """Hand the lake's credentials to a running session.

    Not before: what it is started with stands on the command line of its JVM, in its event log and
    on its page. What a session is given later goes to the workers inside of the tasks alone.
    """
    if not is_s3(lake):
        return
    for name, value in s3a_credentials(lake.plain_storage_options()).items():
        session.conf.set(name, value)
