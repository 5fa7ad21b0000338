"""What the readers of an origin say of its dead letters: who does not read lets nothing fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from alerting.status.model import Status
from app.data import present, queries
from app.data.context import View
from app.style.format import listing
from lake.schemas.current import GROUP_STATUS, READERS
from lake.schemas.tables import CONNECTORS

_DOES = ("group", "is_stopped", "catches_up")


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
    connectors = queries.recent(view, CONNECTORS) if view.settings.connect else CONNECTORS.empty
    return sources_of(queries.dead_letters(view), readers, groups, connectors)


def sources_of(
    letters: pl.DataFrame,
    readers: pl.DataFrame,
    groups: pl.DataFrame,
    connectors: pl.DataFrame,
) -> dict[str, Source]:
    """Return by dead-letter topic what may write to it, where that is stopped or catches up.

    To the topic that a sink is configured to write to, its group alone does. Which group writes to
    another is not seen: it is one of those that read the topic that its messages come from, and no
    sink. Only where all of them are stopped it is certain that none does.

    Args:
        letters: Rows of ``dead_letter_rows``.
        readers: Rows of ``readers``.
        groups: Rows of ``group_status``.
        connectors: Rows of ``connectors`` of the last minutes.
    """
    is_stopped = (pl.col("status") == Status.STOPPED.value) | (
        (pl.col("status") == Status.LOSING_DATA.value) & pl.col("members").eq_missing(0)
    )
    do = groups.select(
        "group",
        is_stopped.alias("is_stopped"),
        (pl.col("status") == Status.CATCHING_UP.value).alias("catches_up"),
    )
    sinks = _sinks(connectors)
    owned = letters.select("name").join(sinks, on="name").unique().sort("group")
    read = (
        letters.select("name", "origin", "redrive_group")
        .drop_nulls("origin")
        .join(owned, on="name", how="anti")
        .join(readers.select(pl.col("topic").alias("origin"), "group"), on="origin")
        .filter(pl.col("group").ne_missing(pl.col("redrive_group")))
        .with_columns(pl.col("group").is_in(sinks["group"].to_list()).alias("is_sink"))
        .sort("group")
    )
    found: dict[str, Source | None] = {}
    for (name,), of_sinks in owned.join(do, on="group", how="left").group_by("name"):
        nouns = f"sink that writes to {name}", f"sinks that write to {name}"
        found[str(name)] = _source(of_sinks.select(_DOES).rows(), nouns)
    for (name, origin), every in read.join(do, on="group", how="left").group_by("name", "origin"):
        of_it = f"{origin} beside sinks" if every["is_sink"].any() else origin
        rows = every.filter(~pl.col("is_sink")).select(_DOES).rows()
        found[str(name)] = _source(rows, (f"reader of {of_it}", f"readers of {of_it}"))
    return {name: one for name, one in found.items() if one is not None}


def _sinks(connectors: pl.DataFrame) -> pl.DataFrame:
    """Return the group of each sink, and the ``name`` of the topic of its dead letters, if any."""
    return (
        connectors.drop_nulls("group")
        .sort("observed_at")
        .unique(["connect", "connector"], keep="last", maintain_order=True)
        .select("group", pl.col("dead_letter_topic").alias("name"))
    )


def _source(
    rows: Sequence[tuple[str, bool | None, bool | None]], nouns: tuple[str, str]
) -> Source | None:
    """Return what groups mean for dead letters, from values of ``_DOES``.

    Args:
        rows: The groups.
        nouns: What one of them is to the topic, and several.
    """
    stopped = [group for group, is_stopped, _ in rows if is_stopped]
    catching_up = [group for group, _, catches_up in rows if catches_up]
    if stopped and len(stopped) == len(rows):
        said = (
            f"{_who(stopped, len(rows), nouns)} stopped: while nobody reads, nothing fails. The "
            "cause may still be there."
        )
        return Source(said=said, is_stopped=True)
    parts = []
    if stopped:
        who = _who(stopped, len(rows), nouns)
        have = "it has" if len(stopped) == 1 else "they have"
        parts.append(f"{who} stopped: what {have} not read cannot fail yet.")
    if catching_up:
        who = _who(catching_up, len(rows), nouns)
        parts.append(f"{who} catching up: more may fail a minute than usual until it is done.")
    return Source(said=" ".join(parts), catches_up=bool(catching_up)) if parts else None


def _who(groups: list[str], every: int, nouns: tuple[str, str]) -> str:
    """Name groups as the readers of a topic: ``a, the only reader of orders, is``."""
    one, many = nouns
    if every == 1:
        return f"{groups[0]}, the only {one}, is"
    if len(groups) == 1:
        return f"{groups[0]}, one of {every} {many}, is"
    share = "all" if len(groups) == every else f"{len(groups)} of {every}"
    return f"{listing(groups)}, {share} {many}, are"
