"""Everything that has a page of its own, to be found by its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import polars as pl
import streamlit as st

from alerting.errors import AlertingError
from alerting.inputs.facts import at_newest_poll
from alerting.rules.lifecycle import State, alert_id
from alerting.rules.model import SEVERITIES
from alerting.status.model import Status
from app.data import alert_store, present, queries
from app.data.context import View
from app.style.format import thin
from lake.errors import LakeError
from lake.schemas.current import BROKER_STATUS, GROUP_STATUS, TOPIC_STATUS
from lake.schemas.model import Table
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
        "in_trouble": pl.Boolean(),  # its status is not OK, or it fires
    }
)
ALERT, SYMPTOM = "alert", "symptom"
"""The kinds of what fires or is pending: causes, and what follows from them."""
_FIRST = ("group", "topic")
"""Kinds that come before the others among what is called alike and as badly off."""


def entries(view: View) -> pl.DataFrame:
    """Return everything that the viewer may open, but pages; what cannot be read is left out."""
    return _entries(view.cache_key, view.cluster, view)


@st.cache_resource(ttl=10, max_entries=32, show_spinner=False)
def _entries(key: str, cluster: str, _view: View) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=SCHEMA), *_each(_view)])


def _each(view: View) -> Iterator[pl.DataFrame]:
    name_only = pl.lit("")
    is_ok, is_in_sync = pl.col("status") == Status.OK, pl.col("replication") == "in sync"
    for table, kind, name, about, page, parameter, in_trouble in (
        (GROUP_STATUS, "group", pl.col("group"), pl.col("status"), "group", "group", ~is_ok),
        (TOPIC_STATUS, "topic", pl.col("topic"), pl.col("kind"), "topic", "topic", ~is_in_sync),
        (
            *(BROKER_STATUS, "broker", pl.format("broker {}", "broker_id")),
            *(pl.format("{}:{}", "host", "port"), "brokers", "", ~pl.col("is_alive")),
        ),
        (
            *(DEAD_LETTERS, "dead letters", pl.col("name"), pl.col("source")),
            *("dead_letters", "name", pl.lit(value=False)),
        ),
        (
            *(CONNECTORS, "connector", pl.col("connector"), pl.col("state")),
            *("connect", "", pl.col("state") == "FAILED"),
        ),
    ):
        try:
            is_present = table.layer == "current"
            rows = present.rows(view, table) if is_present else _polled(view, table)
        except LakeError:
            continue  # pages say what cannot be read
        yield rows.select(
            pl.lit(kind).alias("kind"),
            name.cast(pl.String).alias("name"),
            about.cast(pl.String).fill_null("").alias("about"),
            pl.lit(page).alias("page"),
            pl.lit(parameter).alias("parameter"),
            (name.cast(pl.String) if parameter else name_only).alias("value"),
            in_trouble.fill_null(value=False).alias("in_trouble"),
        ).unique(maintain_order=True)
    yield _queues(view)
    yield _alerts(view)
    yield _rules(view)


def _polled(view: View, table: Table) -> pl.DataFrame:
    """Return what the newest poll read: of the last minutes, which other pages have read, too."""
    rows = at_newest_poll(queries.recent(view, table))
    return queries.newest(view, table) if rows.is_empty() else rows


def _queues(view: View) -> pl.DataFrame:
    """Return the queues of each RabbitMQ, which is a cluster of its own."""
    found: set[tuple[str | bool, ...]] = set()
    for server in view.settings.rabbitmq:
        if not view.viewer.sees(server.name):
            continue
        try:
            rows = _polled(replace(view, cluster=server.name), QUEUES)
        except LakeError:
            continue  # pages say what cannot be read
        found.update(
            ("queue", queue, vhost or "", "queues", "rabbitmq", server.name, False)
            for queue, vhost in rows.select("queue", "vhost").iter_rows()
        )
    return _rows(sorted(found))


def _alerts(view: View) -> pl.DataFrame:
    """Return the open alerts, each of which leads to its incident where a service keeps them.

    What two rules say of one thing is one: what fires, and the worst of that. What follows from
    another one that is open is a symptom.
    """
    try:
        found = present.open_alerts(view)
    except LakeError:
        return _rows(())
    found = found.filter(pl.col("state") != State.RESOLVED.value)
    severity = pl.Enum([one.value for one in SEVERITIES])
    follows = pl.col("inhibited_by").is_in(found["fingerprint"].implode())
    once = (
        found.with_columns(follows.fill_null(value=False).alias("follows"))
        .sort(
            pl.col("state") != State.FIRING.value,
            pl.col("severity").cast(severity),
            maintain_order=True,
        )
        .unique(["cluster", "check", "what"], keep="first", maintain_order=True)
    )
    names = ("what", "rule", "fingerprint", "started_at", "state", "follows")
    rows = once.select(names).iter_rows()
    kept = present.runs(view)
    return _rows(
        (
            *(SYMPTOM if is_symptom else ALERT, thin(what), rule),
            *(
                ("incident", "alert", alert_id(fingerprint, started.timestamp()))
                if kept and started is not None
                else ("alerts", "", "")
            ),
            state == State.FIRING,
        )
        for what, rule, fingerprint, started, state, is_symptom in rows
    )


def _rules(view: View) -> pl.DataFrame:
    try:
        rules = alert_store.rules(view).rules
    except AlertingError:
        return _rows(())  # the page Rules says so
    return _rows(
        ("rule", one.name, one.check.replace("_", " "), "rules", "rule", one.name, False)
        for one in rules
    )


def _rows(found: Iterable[tuple[str | bool, ...]]) -> pl.DataFrame:
    return pl.DataFrame(list(found), schema=SCHEMA, orient="row")


def found(known: pl.DataFrame, text: str) -> pl.DataFrame:
    """Return the names that hold every word of a text, that which is the text first.

    Then come those that begin with it, then alerts, then those with a word that does, then the
    rest; among these what is in trouble, then groups, then topics. Symptoms are found where nothing
    else is: their cause leads to them.

    Args:
        known: Rows of ``SCHEMA``.
        text: What is searched for; capital letters make no difference.
    """
    words = text.lower().split()
    if not words:
        return known.clear()
    name = pl.col("name").str.to_lowercase()
    place = (
        pl.when(pl.col("kind").is_in([ALERT, SYMPTOM]))
        .then(2)
        .when(name == " ".join(words))
        .then(0)
        .when(name.str.starts_with(words[0]))
        .then(1)
        .when(name.str.contains(rf"[^a-z0-9]{pl.escape_regex(words[0])}"))
        .then(3)
        .otherwise(4)
    )
    holds = [name.str.contains(word, literal=True) for word in words]
    kind = pl.col("kind").replace_strict(_FIRST, range(len(_FIRST)), default=len(_FIRST))
    matching = known.filter(*holds)
    others = matching.filter(pl.col("kind") != SYMPTOM)
    return (matching if others.is_empty() else others).sort(
        place, ~pl.col("in_trouble"), kind, name.str.len_chars(), "name", "kind"
    )
