"""Everything that has a page of its own, to be found by its name."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import streamlit as st

from app.data import present, queries
from app.data.context import View
from lake.errors import LakeError
from lake.schemas.current import BROKER_STATUS, GROUP_STATUS, OPEN_ALERTS, TOPIC_STATUS
from lake.schemas.tables import CONNECTORS, DEAD_LETTERS, QUEUES

SHOWN = 12
"""Most names that a search lists."""

SCHEMA = pl.Schema(
    {
        "kind": pl.String(),
        "name": pl.String(),
        "about": pl.String(),  # its state in a word or two
        "page": pl.String(),
        "parameter": pl.String(),  # what names it in the page's address; empty: nothing does
        "value": pl.String(),
    }
)


def entries(view: View) -> pl.DataFrame:
    """Return everything that the viewer may open, but pages; what cannot be read is left out."""
    return _entries(view.cache_key, view.cluster, view)


@st.cache_resource(ttl=10, max_entries=32, show_spinner=False)
def _entries(key: str, cluster: str, _view: View) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=SCHEMA), *_each(_view)])


def _each(view: View) -> Iterator[pl.DataFrame]:
    name_only = pl.lit("")
    for table, kind, name, about, page, parameter in (
        (GROUP_STATUS, "group", pl.col("group"), pl.col("status"), "group", "group"),
        (TOPIC_STATUS, "topic", pl.col("topic"), pl.col("kind"), "topic", "topic"),
        (
            *(BROKER_STATUS, "broker", pl.format("broker {}", "broker_id")),
            *(pl.format("{}:{}", "host", "port"), "brokers", ""),
        ),
        (OPEN_ALERTS, "alert", pl.col("what"), pl.col("rule"), "alerts", ""),
        (DEAD_LETTERS, "dead letters", pl.col("name"), pl.col("source"), "dead_letters", "name"),
        (CONNECTORS, "connector", pl.col("connector"), pl.col("state"), "connect", ""),
        (QUEUES, "queue", pl.col("queue"), pl.col("vhost"), "queues", ""),
    ):
        try:
            is_present = table.layer == "current"
            rows = present.rows(view, table) if is_present else queries.newest(view, table)
        except LakeError:
            continue  # pages say what cannot be read
        yield rows.select(
            pl.lit(kind).alias("kind"),
            name.cast(pl.String).alias("name"),
            about.cast(pl.String).fill_null("").alias("about"),
            pl.lit(page).alias("page"),
            pl.lit(parameter).alias("parameter"),
            (name.cast(pl.String) if parameter else name_only).alias("value"),
        ).unique(maintain_order=True)


def found(known: pl.DataFrame, text: str) -> pl.DataFrame:
    """Return the names that hold every word of a text: those that begin with it come first.

    Args:
        known: Rows of ``SCHEMA``.
        text: What is searched for; capital letters make no difference.
    """
    words = text.lower().split()
    if not words:
        return known.clear()
    name = pl.col("name").str.to_lowercase()
    place = (
        pl.when(name == " ".join(words))
        .then(0)
        .when(name.str.starts_with(words[0]))
        .then(1)
        .when(name.str.contains(rf"[^a-z0-9]{pl.escape_regex(words[0])}"))
        .then(2)
        .otherwise(3)
    )
    holds = [name.str.contains(word, literal=True) for word in words]
    return (
        known.filter(*holds)
        .with_columns(place.alias("place"), name.str.len_chars().alias("length"))
        .sort("place", "length", "name", "kind")
        .drop("place", "length")
    )
