"""What the loss of one more broker would do: the one answer of its page and of alerts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

import polars as pl

from alerting.status.phrases import QUORUM_ENDS, plural

_NAMED = 4
"""Most brokers that a sentence names."""


def with_losses(
    brokers: pl.DataFrame, partitions: pl.DataFrame, decisive: AbstractSet[int] | None
) -> pl.DataFrame:
    """Add what each broker leads and holds, and what would happen if it went, too.

    Args:
        brokers: Rows of ``brokers``, one a broker.
        partitions: Rows of ``partitions``, one a partition.
        decisive: What ``alerting.inputs.quorum.decisive_brokers`` returned.
    """
    rows = brokers.drop("leaders", "replicas").join(_held(partitions), on="broker_id", how="left")
    is_known = not partitions.is_empty()
    prefer_known = is_known and not partitions["preferred_leader"].null_count()
    held = [
        pl.col(name).fill_null(0) if known else pl.lit(None, pl.Int64).alias(name)
        for names, known in (
            (("leaders", "replicas"), is_known),
            (("preferred", "preferred_led"), prefer_known),
        )
        for name in names
    ]
    unknown = pl.lit(None, pl.Boolean)
    ends = unknown if decisive is None else pl.col("broker_id").is_in(list(decisive))
    ends = pl.when("is_alive").then(ends).alias("ends_quorum_if_lost")
    found = rows.with_columns(*held, *_if_lost(partitions), ends)
    # Without a majority of controllers what it leads gets no other leader.
    stops = pl.max_horizontal("offline_if_lost", "leaders")
    offline = pl.when("ends_quorum_if_lost").then(stops).otherwise("offline_if_lost")
    return found.with_columns(offline.alias("offline_if_lost"))


def one_more_loss(brokers: pl.DataFrame) -> list[str]:
    """Say what the loss of one more broker would do, and of which ones: a clause for each of these.

    Args:
        brokers: Rows of ``with_losses`` or ``broker_status``.
    """
    left = brokers.filter("is_alive")
    known = left.drop_nulls(["offline_if_lost", "refused_if_lost"])
    offline, refused = pl.col("offline_if_lost"), pl.col("refused_if_lost")
    clauses: dict[tuple[int, ...], list[str]] = {}
    stops = known.filter(offline > 0)
    if ids := _ids(stops):
        goes = "goes" if stops["offline_if_lost"].max() == 1 else "go"
        clauses[ids] = [f"{_up_to(stops['offline_if_lost'])} {goes} offline"]
    # What is offline cannot be written either.
    refuses = known.filter(refused > offline)
    if ids := _ids(refuses):
        said = f"writes with acks=all stop on {_up_to(refuses['refused_if_lost'])}"
        clauses.setdefault(ids, []).append(said)
    if decisive := _ids(left.filter("ends_quorum_if_lost")):
        clauses.setdefault(decisive, []).append(QUORUM_ENDS)
    parts = [f"if {_any_of(ids)} fails too, {_listed(what)}" for ids, what in clauses.items()]
    return parts or (["one more loss would stop no partition"] if known.height else [])


_CLAUSE = re.compile(r" (?:If (?:broker|any of) |One more loss )[^.]*\.")


def with_one_more_loss(text: str, clauses: Iterable[str]) -> str:
    """Return a text with what ``one_more_loss`` says behind it."""
    return text + "".join(f" {one[0].upper()}{one[1:]}." for one in clauses)


def without_one_more_loss(text: str) -> str:
    """Return a text without what ``with_one_more_loss`` put into it: it was of another moment."""
    return _CLAUSE.sub("", text)


def _ids(brokers: pl.DataFrame) -> tuple[int, ...]:
    return tuple(brokers["broker_id"].sort())


def _any_of(ids: tuple[int, ...]) -> str:
    if len(ids) > _NAMED:
        return f"any of {len(ids)} brokers"
    *others, last = map(str, ids)
    return f"broker {', '.join(others)} or {last}" if others else f"broker {last}"


def _up_to(numbers: pl.Series) -> str:
    most = plural(int(numbers.sort()[-1]), "partition")
    return most if numbers.n_unique() == 1 else f"up to {most}"


def _listed(clauses: list[str]) -> str:
    return ", and ".join(filter(None, (", ".join(clauses[:-1]), clauses[-1])))


def _held(partitions: pl.DataFrame) -> pl.DataFrame:
    """Return what each broker holds, and what would be left without it."""
    in_sync = partitions.select(
        pl.col("in_sync_replicas").list.len().cast(pl.Int64).alias("left") - 1,
        "min_in_sync_replicas",
        pl.col("in_sync_replicas").alias("broker_id"),
    ).explode("broker_id")
    few = pl.col("left") < pl.col("min_in_sync_replicas")
    found = in_sync.group_by("broker_id").agg(
        (pl.col("left") == 0).sum().cast(pl.Int64).alias("offline_if_lost"),
        pl.when(few.null_count() == 0)
        .then(few.sum().cast(pl.Int64))
        .otherwise(-1)
        .alias("refused_if_lost"),
    )
    for column, name in (("leader", "leaders"), ("replicas", "replicas")):
        listed = partitions.select(pl.col(column).alias("broker_id"))
        of_each = listed.explode("broker_id") if column == "replicas" else listed
        found = found.join(
            of_each.group_by("broker_id").len(name), on="broker_id", how="full", coalesce=True
        )
    is_led = (pl.col("leader") == pl.col("preferred_leader")).fill_null(value=False)
    prefer = partitions.group_by(pl.col("preferred_leader").alias("broker_id")).agg(
        pl.len().cast(pl.Int64).alias("preferred"),
        is_led.sum().cast(pl.Int64).alias("preferred_led"),
    )
    found = found.join(prefer, on="broker_id", how="full", coalesce=True)
    return found.drop_nulls("broker_id")


def _if_lost(partitions: pl.DataFrame) -> list[pl.Expr]:
    """Return what would happen if each broker went, too; null where that is not known."""
    is_known = not partitions.is_empty() and not partitions["in_sync_replicas"].null_count()
    return [
        pl.when(pl.col("is_alive") & pl.lit(is_known))
        .then(pl.col(name).fill_null(0).replace(-1, None))
        .alias(name)
        for name in ("offline_if_lost", "refused_if_lost")
    ]
