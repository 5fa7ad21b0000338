"""What the readers of an origin say of its dead letters: who does not read lets nothing fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from alerting.status.model import Status
from app.data import present, queries
from app.data.context import View
from app.style.format import listing
from lake.schemas.current import GROUP_STATUS, READERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What may write to a dead-letter topic, where it is stopped or catches up.

    Attributes:
        said: That, and what it means for what arrives.
        is_stopped: Whether all of it is stopped: then nothing arrives, whatever the cause does.
        catches_up: Whether some of it catches up: then more may arrive than usual.
    """

    said: str
    is_stopped: bool = False
    catches_up: bool = False


def of_cluster(view: View) -> dict[str, Source]:
    """Return ``sources_of`` a cluster; nothing to somebody who does not see all of its groups.

    They do not know who else reads an origin.

    Raises:
        LakeError: A table cannot be read.
    """
    if not view.viewer.sees_all_of(view.cluster):
        return {}
    readers, groups = (present.rows(view, one) for one in (READERS, GROUP_STATUS))
    return sources_of(queries.dead_letters(view), readers, groups)


def sources_of(
    letters: pl.DataFrame, readers: pl.DataFrame, groups: pl.DataFrame
) -> dict[str, Source]:
    """Return by dead-letter topic what reads its origin, where it is stopped or catches up.

    Which group writes to a dead-letter topic is not seen: it is one of those that read the topic
    that its messages come from. Only where all of them are stopped it is certain that none does.

    Args:
        letters: Rows of ``dead_letter_rows``.
        readers: Rows of ``readers``.
        groups: Rows of ``group_status``.
    """
    is_stopped = (pl.col("status") == Status.STOPPED.value) | (
        (pl.col("status") == Status.LOSING_DATA.value) & pl.col("members").eq_missing(0)
    )
    reads = readers.select(pl.col("topic").alias("origin"), "group").join(
        groups.select(
            "group",
            is_stopped.alias("is_stopped"),
            (pl.col("status") == Status.CATCHING_UP.value).alias("catches_up"),
        ),
        on="group",
        how="left",
    )
    found = (
        letters.select("name", "origin", "redrive_group")
        .drop_nulls("origin")
        .join(reads, on="origin")
        .filter(pl.col("group").ne_missing(pl.col("redrive_group")))
        .sort("group")
    )
    known = {}
    for (name, origin), about in found.group_by("name", "origin"):
        one = _source(str(origin), about.select("group", "is_stopped", "catches_up").rows())
        if one is not None:
            known[str(name)] = one
    return known


def _source(origin: str, readers: Iterable[tuple[str, bool | None, bool | None]]) -> Source | None:
    rows = list(readers)
    stopped = [group for group, is_stopped, _ in rows if is_stopped]
    catching_up = [group for group, _, catches_up in rows if catches_up]
    if stopped and len(stopped) == len(rows):
        said = (
            f"{_who(stopped, len(rows), origin)} stopped: while nobody reads, nothing fails. The "
            "cause may still be there."
        )
        return Source(said=said, is_stopped=True)
    parts = []
    if stopped:
        who = _who(stopped, len(rows), origin)
        have = "it has" if len(stopped) == 1 else "they have"
        parts.append(f"{who} stopped: what {have} not read cannot fail yet.")
    if catching_up:
        who = _who(catching_up, len(rows), origin)
        parts.append(f"{who} catching up: more may fail a minute than usual until it is done.")
    return Source(said=" ".join(parts), catches_up=bool(catching_up)) if parts else None


def _who(groups: list[str], readers: int, origin: str) -> str:
    """Name groups as the readers of a topic: ``a, the only reader of orders, is``."""
    if readers == 1:
        return f"{groups[0]}, the only reader of {origin}, is"
    if len(groups) == 1:
        return f"{groups[0]}, one of {readers} readers of {origin}, is"
    share = "all" if len(groups) == readers else f"{len(groups)} of {readers}"
    return f"{listing(groups)}, {share} readers of {origin}, are"
