"""Deploy marks: what people and pipelines say they have changed, as rows of ``cluster_events``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import Any

import polars as pl

from lake.schemas.bronze import CLUSTER_EVENTS
from lake.storage.store import Lake

KIND = "deploy"
TEXT_LENGTH = 200
_NAME_LENGTH = 500
_AHEAD = timedelta(minutes=5)  # clocks differ
_BACK = timedelta(days=7)
_FIELDS = ("text", "cluster", "group", "topic", "at", "author")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployMark:
    """Something that was deployed.

    Attributes:
        group: The consumer group that it is about; None: none in particular.
        topic: The same of a topic.
    """

    text: str
    cluster: str
    at: datetime
    author: str = ""
    group: str | None = None
    topic: str | None = None


def deploy_mark(
    text: str,
    *,
    clusters: Sequence[str],
    now: datetime,
    cluster: str | None = None,
    group: str | None = None,
    topic: str | None = None,
    at: str | None = None,
    author: str = "",
) -> DeployMark:
    """Return a mark of what somebody says; a text that is too long is cut.

    Args:
        text: What was deployed: ``orders 1.4.2``.
        clusters: The clusters that there are.
        now: The present.
        cluster: Where; None: the only one that there is.
        group: The consumer group that it is about.
        topic: The topic that it is about.
        at: When, in ISO 8601, without a zone in UTC; None: now.
        author: Who.

    Raises:
        ValueError: It cannot be one; one line says why.
    """
    what = _line(text)
    if not what:
        raise ValueError("a mark needs a text, such as: orders 1.4.2")
    known = ", ".join(clusters)
    if cluster is None and len(clusters) != 1:
        raise ValueError(f"name the cluster, one of: {known}")
    where = clusters[0] if cluster is None else cluster
    if where not in clusters:
        raise ValueError(f"there is no cluster {_line(where)}: there are {known}")
    moment = now if at is None else _moment(at)
    if not now - _BACK <= moment <= now + _AHEAD:
        raise ValueError(f"at: {moment:%Y-%m-%dT%H:%MZ} is not within the last seven days")
    return DeployMark(
        text=what,
        cluster=where,
        at=moment,
        author=_line(author),
        group=_name("group", group),
        topic=_name("topic", topic),
    )


def from_json(content: bytes, clusters: Sequence[str], now: datetime) -> DeployMark:
    """Return the mark that a request asks for: an object with the arguments of ``deploy_mark``.

    Raises:
        ValueError: It is none; one line says why.
    """
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError('must be JSON such as {"text": "orders 1.4.2"}') from None
    if not isinstance(found, dict) or not found.keys() <= set(_FIELDS):
        raise ValueError(f"must be an object with no other fields than {', '.join(_FIELDS)}")
    wrong = [name for name, value in found.items() if not isinstance(value, str)]
    if wrong:
        raise ValueError(f"{wrong[0]}: must be a text")
    return deploy_mark(**{"text": "", **found}, clusters=clusters, now=now)


def write(lake: Lake, mark: DeployMark) -> None:
    """Append a mark.

    Raises:
        LakeError: It cannot be written.
    """
    row: dict[str, Any] = {
        "cluster": mark.cluster,
        "observed_at": mark.at,
        "poll_id": f"mark-{token_hex(8)}",
        "kind": KIND,
        "subject": mark.text,
        "detail": f"by {mark.author}" if mark.author else None,
        "group": mark.group,
        "topic": mark.topic,
    }
    schema = {name: CLUSTER_EVENTS.polars_schema[name] for name in row}
    lake.append(CLUSTER_EVENTS, pl.DataFrame([row], schema=schema))


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("at: must be a moment such as 2026-01-05T10:00Z") from None


def _name(field: str, value: str | None) -> str | None:
    if value is not None and not (value.isprintable() and 0 < len(value) <= _NAME_LENGTH):
        raise ValueError(f"{field}: must be one line of 1 to {_NAME_LENGTH} characters")
    return value


def _line(text: str) -> str:
    """Return a text on one line, without what cannot be printed, cut."""
    printable = "".join(one if one.isprintable() else " " for one in text[: 10 * TEXT_LENGTH])
    line = " ".join(printable.split())
    return line if len(line) <= TEXT_LENGTH else f"{line[: TEXT_LENGTH - 1]}…"
