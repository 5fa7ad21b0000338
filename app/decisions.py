"""What the deciding packages say about what the lake holds, kept for a moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import polars as pl
import streamlit as st

from alerting import facts
from alerting.attention_facts import AttentionFacts, DeadlineFact
from alerting.samples import GroupStatus
from alerting.windows import WINDOW_SECONDS, GroupKey
from app import queries
from app.facts import deadline_facts, idle_facts
from app.view import View
from lake.errors import LakeError
from lake.schema import Table
from lake.tables import (
    BROKERS,
    CAPACITY,
    DEAD_LETTERS,
    FORECASTS,
    GROUP_MEMBERS,
    GROUPS,
    PARTITIONS,
)
from scaling import facts as scaling_facts
from scaling import topic_facts as scaling_topics
from scaling.facts import GroupFacts
from scaling.spark import QueryFacts, query_facts
from scaling.topic_facts import TopicFacts

_Value = TypeVar("_Value")


def group_facts(view: View) -> dict[str, GroupFacts]:
    """Return what is known of every group of the newest poll, its status included, by name.

    Raises:
        LakeError: A table cannot be read.
    """
    return _group_facts(view.lake_uri, view.cluster, view)


@st.cache_data(ttl=4, max_entries=16, show_spinner=False)
def _group_facts(uri: str, cluster: str, _view: View) -> dict[str, GroupFacts]:
    offsets, groups, held = _snapshot(uri, cluster, _view)
    found = scaling_facts.group_facts(
        offsets,
        groups,
        held,
        queries.topics(_view),
        queries.newest(_view, PARTITIONS),
        now=_view.now.timestamp(),
        capacity=_if_readable(_view, CAPACITY),
        forecasts=_if_readable(_view, FORECASTS),
        objective=_view.settings.scaling.objective_seconds,
    )
    return {key.group: found[key] for key in sorted(found)}


def by_key(view: View, groups: Mapping[str, GroupFacts]) -> dict[GroupKey, GroupFacts]:
    """Return a cluster's groups by cluster and group, as deciding packages know them."""
    return {GroupKey(view.cluster, group): fact for group, fact in groups.items()}


def _if_readable(view: View, table: Table) -> pl.DataFrame | None:
    """Return a derived table, without which a group's state is known all the same.

    The page of advice reads it too, and shows what is wrong with it.
    """
    try:
        return queries.derived(view, table)
    except LakeError:
        return None


@st.cache_data(ttl=4, max_entries=16, show_spinner=False)
def _snapshot(
    uri: str, cluster: str, _view: View
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return rows of offsets, groups and members that belong together."""
    # A minute more than the window, so that the oldest sample of a slow poll is in it.
    offsets, groups = queries.status_rows(_view, timedelta(seconds=WINDOW_SECONDS + 60))
    if groups.is_empty():  # nobody has polled for long: the groups are known, their state is not
        groups = queries.newest(_view, GROUPS)
        return offsets, groups, queries.newest(_view, GROUP_MEMBERS)
    interval = timedelta(seconds=_view.interval_seconds)
    held = queries.recent(_view, GROUP_MEMBERS, interval * 6)
    offsets, groups, held = facts.same_polls((offsets, groups, held), interval * 2)
    return offsets, groups, held


def topic_facts(view: View) -> dict[str, TopicFacts]:
    """Return what is known of every topic, by name.

    Raises:
        LakeError: A table cannot be read.
    """
    found = scaling_topics.topic_facts(
        queries.topics(view),
        _partitions(view),
        queries.newest(view, BROKERS),
        scaling_topics.topic_readers(by_key(view, group_facts(view))),
    )
    return {topic: fact for (_, topic), fact in sorted(found.items())}


def streaming_facts(view: View) -> list[QueryFacts]:
    """Return what is known of the Spark queries; of those on other clusters nothing is.

    Raises:
        LakeError: A table cannot be read.
    """
    return query_facts(view.settings.scaling.spark_queries, _partitions(view))


def _partitions(view: View) -> pl.DataFrame:
    return queries.recent(view, PARTITIONS, timedelta(seconds=WINDOW_SECONDS))


def group_statuses(view: View) -> dict[str, GroupStatus]:
    """Return what every group of the cluster is doing, by name.

    Raises:
        LakeError: A table cannot be read.
    """
    return {group: fact.status for group, fact in group_facts(view).items()}


def deadlines(view: View) -> tuple[DeadlineFact, ...]:
    """Return the groups that retention overtakes, and when.

    Raises:
        LakeError: A table cannot be read.
    """
    return deadline_facts(group_facts(view), view.now)


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that the overview is decided from.

    Attributes:
        facts: The facts.
        errors: Tables that could not be read: facts from them are missing.
        missing: Which facts are missing: names of fields of ``AttentionFacts``.
    """

    facts: AttentionFacts
    errors: tuple[LakeError, ...]
    missing: frozenset[str]


def gather(view: View) -> Gathered:
    """Collect the facts of the cluster; a table that cannot be read leaves out its own alone."""
    errors: dict[str, LakeError] = {}

    def attempt(name: str, read: Callable[[], tuple[_Value, ...]]) -> tuple[_Value, ...]:
        try:
            return read()
        except LakeError as error:
            errors[name] = error
            return ()

    cluster = view.cluster
    found = AttentionFacts(
        now=view.now.timestamp(),
        groups=attempt(
            "groups",
            lambda: facts.group_facts(cluster, group_statuses(view), queries.newest(view, GROUPS)),
        ),
        clusters=attempt(
            "clusters",
            lambda: (
                facts.cluster_fact(
                    cluster, queries.recent(view, BROKERS), queries.recent(view, PARTITIONS)
                ),
            ),
        ),
        deadlines=attempt("deadlines", lambda: deadlines(view)),
        dead_letters=attempt(
            "dead_letters", lambda: facts.dead_letter_facts(cluster, dead_letters(view))
        ),
        idle=attempt("idle", lambda: idle_facts(cluster, group_facts(view))),
        collections=attempt(
            "collections",
            lambda: facts.collection_facts(cluster, facts.section_rows(queries.collections(view))),
        ),
    )
    by_table = {str(error).partition(":")[0]: error for error in errors.values()}
    return Gathered(found, tuple(by_table.values()), frozenset(errors))


def dead_letters(view: View) -> pl.DataFrame:
    """Return the newest row of each dead-letter topic; see ``alerting.facts.dead_letter_rows``.

    Raises:
        LakeError: A table cannot be read.
    """
    return facts.dead_letter_rows(queries.recent(view, DEAD_LETTERS), queries.topics(view))


def members(view: View) -> pl.DataFrame:
    """Return the members of all groups at the newest poll that was read in full.

    A poll in which no group has a member writes no row: a group's own ``members`` says whether
    there are any.

    Raises:
        LakeError: A table cannot be read.
    """
    _, _, held = _snapshot(view.lake_uri, view.cluster, view)
    return facts.at_newest_poll(held)


def moment(unix_seconds: float | None) -> datetime | None:
    """Return a decision's time as a moment."""
    return None if unix_seconds is None else datetime.fromtimestamp(unix_seconds, UTC)
