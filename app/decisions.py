"""What the deciding packages say about what the lake holds, kept for a moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import polars as pl
import streamlit as st

from alerting.attention_facts import AttentionFacts
from alerting.lag_status import group_status
from alerting.samples import GroupStatus
from alerting.windows import WINDOW_SECONDS, build_windows
from app import facts, queries
from app.view import View
from lake.errors import LakeError
from lake.store import Lake
from lake.tables import (
    BROKERS,
    DEAD_LETTERS,
    GROUP_MEMBERS,
    GROUP_OFFSETS,
    GROUPS,
    PARTITIONS,
)

_Value = TypeVar("_Value")


def group_statuses(view: View) -> dict[str, GroupStatus]:
    """Return what every group of the cluster is doing, by name.

    A group that the newest poll saw but whose offsets nobody could read is there too, as unknown.

    Raises:
        LakeError: A table cannot be read.
    """
    return _group_statuses(view.lake_uri, view.cluster, view.lake, view)


@st.cache_data(ttl=4, max_entries=16, show_spinner=False)
def _group_statuses(uri: str, cluster: str, _lake: Lake, _view: View) -> dict[str, GroupStatus]:
    # A minute more than the window, so that the oldest sample of a slow poll is in it.
    offsets, groups = queries.status_rows(_view, timedelta(seconds=WINDOW_SECONDS + 60))
    now = _view.now.timestamp()
    windows = build_windows(offsets, groups)
    statuses = {key.group: group_status(window, now=now) for key, window in windows.items()}
    for group in queries.newest(_view, GROUPS)["group"].to_list():
        statuses.setdefault(group, group_status((), now=now))
    return dict(sorted(statuses.items()))


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything that the overview is decided from.

    Attributes:
        facts: The facts.
        errors: Tables that could not be read: facts from them are missing.
    """

    facts: AttentionFacts
    errors: tuple[LakeError, ...]


def gather(view: View) -> Gathered:
    """Collect the facts of the cluster; a table that cannot be read leaves out its own alone."""
    errors: list[LakeError] = []

    def attempt(read: Callable[[], tuple[_Value, ...]]) -> tuple[_Value, ...]:
        try:
            return read()
        except LakeError as error:
            errors.append(error)
            return ()

    cluster = view.cluster
    return Gathered(
        AttentionFacts(
            now=view.now.timestamp(),
            groups=attempt(
                lambda: facts.group_facts(
                    cluster, group_statuses(view), queries.newest(view, GROUPS)
                )
            ),
            clusters=attempt(
                lambda: (
                    facts.cluster_fact(
                        cluster, queries.recent(view, BROKERS), queries.recent(view, PARTITIONS)
                    ),
                )
            ),
            dead_letters=attempt(
                lambda: facts.dead_letter_facts(cluster, dead_letters(view)),
            ),
            idle=attempt(
                lambda: facts.idle_facts(
                    cluster, members(view), queries.newest(view, GROUP_OFFSETS)
                )
            ),
            collections=attempt(
                lambda: facts.collection_facts(
                    cluster, facts.section_rows(queries.collections(view))
                )
            ),
        ),
        tuple(errors),
    )


def dead_letters(view: View) -> pl.DataFrame:
    """Return the newest row of each dead-letter topic; see ``app.facts.dead_letter_rows``.

    Raises:
        LakeError: A table cannot be read.
    """
    return facts.dead_letter_rows(queries.recent(view, DEAD_LETTERS), queries.topics(view))


def members(view: View) -> pl.DataFrame:
    """Return the members of all groups at the newest poll of groups.

    Raises:
        LakeError: A table cannot be read.
    """
    return facts.members_of_poll(
        queries.newest(view, GROUP_MEMBERS), queries.newest(view, GROUPS)
    )


def moment(unix_seconds: float | None) -> datetime | None:
    """Return a decision's time as a moment."""
    return None if unix_seconds is None else datetime.fromtimestamp(unix_seconds, UTC)
