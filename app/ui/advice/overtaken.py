"""Advice that is older than what its subject does now. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any, NamedTuple

import polars as pl

from alerting.status.model import Status
from app.style.format import clock
from app.style.theme import BadgeStyle
from app.ui.group_badges import BADGE_STYLES
from scaling.advice.model import AdviceKind, Subject

OLDER = BadgeStyle(
    word="older",
    symbol="↺",
    icon=":material/history:",
    colour="gray",
    meaning="What it is about has changed since; the next round advises anew.",
)
WITHDRAWN = BadgeStyle(
    word="withdrawn",
    symbol="↺",
    icon=":material/history:",
    colour="gray",
    meaning="The newest round does not advise it any more.",
)
_BETTER = frozenset({Status.OK, Status.CATCHING_UP})
IN_SYNC = "in sync"
_OF_NOBODY = (AdviceKind.KEEP, AdviceKind.START_CONSUMERS, AdviceKind.RESTART_CONNECTOR)
"""What is advised where nobody reads."""
_OF_WELL = frozenset(
    {AdviceKind.KEEP, AdviceKind.REMOVE_CONSUMERS, AdviceKind.REMOVE_IDLE_CONSUMERS}
)
"""What is advised to groups that are well: that they are is nothing new to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overtaken:
    """What became of the subject of advice since it was given."""

    now: str
    """What is newer: ``what the group does since 05:51: stopped``."""
    given: str
    """When the advice was given, by the clock."""
    is_void: bool
    """Whether the advice is no answer to that."""

    @property
    def sentence(self) -> str:
        """Say it in a line."""
        return f"This advice of {self.given} is older than {self.now}."


def is_folded(row: Mapping[str, Any], newer: Overtaken | None) -> bool:
    """Return whether a row of ``recommendations`` does not stand any more, with what is newer.

    What replicas do is a matter of brokers: it is marked, and no advice to give anew.
    """
    return newer is not None and newer.is_void and row["subject_kind"] == Subject.GROUP


class GroupNow(NamedTuple):
    """What a group does now."""

    status: Status
    since: datetime | None  # None: since before the first sample that is known
    members: int | None


@dataclass(frozen=True, slots=True)
class Known:
    """What groups and topics do now."""

    groups: Mapping[str, GroupNow] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, groups: pl.DataFrame, topics: pl.DataFrame) -> Known:
        """Return what rows of ``group_status`` and ``topic_status`` say.

        A status that held already in the first sample that is known may be older than any advice.
        """
        since = pl.when(pl.col("since_at_least").not_()).then("since").alias("since")
        found = groups.select("group", "status", since, "members")
        return cls(
            {
                name: GroupNow(Status(status), began, members)
                for name, status, began, members in found.iter_rows()
            },
            dict(topics.select("topic", pl.col("replication").fill_null("unknown")).iter_rows()),
        )

    def overtakes(self, row: Mapping[str, Any], *, zone: tzinfo, now: datetime) -> Overtaken | None:
        """Return what is newer than a row of ``recommendations``; None: nothing that is known."""
        newer = self._newer(row, zone, now)
        if newer is None:
            return None
        does, is_void = newer
        return Overtaken(now=does, given=clock(row["confirmed_at"], zone, now=now), is_void=is_void)

    def _newer(
        self, row: Mapping[str, Any], zone: tzinfo, now: datetime
    ) -> tuple[str, bool] | None:
        """Return what its subject does now, and whether the advice is no answer to that."""
        is_keep = row["kind"] == AdviceKind.KEEP
        if row["subject_kind"] == Subject.TOPIC:
            state = self.topics.get(row["subject"], IN_SYNC)
            if not is_keep or state == IN_SYNC:
                return None
            return f"what its replicas do now: {state}", True
        if row["subject_kind"] != Subject.GROUP or row["subject"] not in self.groups:
            return None
        status, since, members = self.groups[row["subject"]]
        if row["current"] == 0 and row["kind"] in _OF_NOBODY:
            if members:
                return f"the number of its consumers: {members}", True
            if is_keep and status is Status.STOPPED:
                # It is found to have stopped after a while, and dated back.
                return f"what the group does now: {BADGE_STYLES[status].word}", True
        # A poll that failed tells nothing new.
        is_new = status is not Status.UNKNOWN and since and since > row["confirmed_at"]
        if not is_new or (status is Status.OK and row["kind"] in _OF_WELL):
            return None
        does = f"what the group does since {clock(since, zone, now=now)}"
        return f"{does}: {BADGE_STYLES[status].word}", is_keep or status in _BETTER
