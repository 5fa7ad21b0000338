"""What is known of consumer groups after they were read, as columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

GROUPS_SCHEMA = pl.Schema(
    {
        "group": pl.String(),
        "state": pl.String(),
        "type": pl.String(),
        "protocol_type": pl.String(),
        "protocol": pl.String(),
        "coordinator": pl.Int32(),
        "members": pl.Int32(),
        "epoch": pl.Int32(),
        "unknown_reason": pl.String(),
    }
)
MEMBERS_SCHEMA = pl.Schema(
    {
        "group": pl.String(),
        "member_id": pl.String(),
        "client_id": pl.String(),
        "host": pl.String(),
        "instance_id": pl.String(),
        "rack": pl.String(),
        "epoch": pl.Int32(),
        "assigned_partitions": pl.Int32(),
    }
)
OWNERS_SCHEMA = pl.Schema(
    {
        "group": pl.String(),
        "topic": pl.String(),
        "partition": pl.Int32(),
        "member_id": pl.String(),
        "client_id": pl.String(),
        "host": pl.String(),
    }
)
COMMITTED_SCHEMA = pl.Schema(
    {
        "group": pl.String(),
        "topic": pl.String(),
        "partition": pl.Int32(),
        "committed": pl.Int64(),
        "share_lag": pl.Int64(),
        "committed_unknown": pl.String(),
    }
)
SUBSCRIPTIONS_SCHEMA = pl.Schema(
    {"group": pl.String(), "topic": pl.String(), "pattern": pl.String()}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRef:
    """A group as it is listed, or as it was known before.

    Attributes:
        type: ``classic``, ``consumer`` (KIP-848), ``share`` or ``streams``.
        protocol_type: ``consumer``, ``connect``, … or empty for a group that only commits.
    """

    group: str
    type: str
    protocol_type: str


@dataclass(slots=True, kw_only=True)
class Groups:
    """What the coordinators said.

    Attributes:
        groups: One row a group (``GROUPS_SCHEMA``); where its coordinator cannot be asked, state
            is ``unknown``, members are null and ``unknown_reason`` says why.
        owners: One row a partition that is assigned to a member; see ``take_offsets``.
        subscriptions: One row a topic that a group with members reads by its subscription, or a
            regular expression (pattern) that names such topics. A group whose subscription is not
            known in full has no row.
        committed: One row a committed offset; null with ``committed_unknown`` where Kafka would
            not tell this one. Of a share group: where its share partition begins, and its lag by
            the broker's count. See ``take_offsets``.
        offsets_unknown: Group: why its committed offsets could not be read.
        refs: Every group that exists as far as is known, by id: what to remember.
    """

    groups: pl.DataFrame
    members: pl.DataFrame
    owners: pl.DataFrame
    subscriptions: pl.DataFrame
    committed: pl.DataFrame
    offsets_unknown: Mapping[str, str]
    refs: Mapping[str, GroupRef]
    problems: Sequence[str]

    def take_offsets(self, kept: Collection[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return ``committed`` and ``owners``, once.

        Of 150,000 partitions they are 20 MB while memory peaks.
        """
        taken = self.committed, self.owners
        self.committed = self.committed.filter(pl.col("group").is_in(kept))
        self.owners = self.owners.clear()
        return taken
