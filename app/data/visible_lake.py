"""The lake as somebody sees it: rows of what their roles do not show are never read.

Every table says here by which columns a row is shown. A table that does not is shown to nobody but
those who see the whole cluster, so that a new table is hidden until somebody has thought of it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import polars as pl

from app.data.viewer import Viewer
from config.settings import LakeSettings
from lake.schemas import current
from lake.schemas.model import Table
from lake.schemas.tables import (
    BROKERS,
    CAPACITY,
    CAPACITY_INTERVALS,
    CHANGES,
    CLUSTER_EVENTS,
    COLLECTIONS,
    DEAD_LETTER_HISTORY,
    DEAD_LETTERS,
    FORECASTS,
    GROUP_HISTORY,
    GROUP_MEMBERS,
    GROUP_OFFSETS,
    GROUP_PARTITION_HISTORY,
    GROUPS,
    LAG_ANOMALIES,
    PARTITIONS,
    REBALANCES,
    RECOMMENDATIONS,
    SCHEMA_SUBJECTS,
    SEASONALITY,
    SKEW,
    TOPIC_HISTORY,
    TOPICS,
    WAITING_COLLECTORS,
)
from lake.storage.current_store import CurrentStore
from lake.storage.data_files import scan_files
from lake.storage.kept_series import KeptSeries
from lake.storage.store import Lake, asked, is_of_series

_HIDDEN = pl.lit(False)


def _name(kind: str, column: str | None = None) -> Callable[[Viewer], pl.Expr]:
    """Rows of a group or a topic, by the column that names it."""

    def shown(viewer: Viewer) -> pl.Expr:
        return seen(viewer, **{kind: pl.col(column or kind)})

    return shown


def _both(viewer: Viewer) -> pl.Expr:
    return seen(viewer, group=pl.col("group"), topic=pl.col("topic"))


def _subject(kind: str, name: str) -> Callable[[Viewer], pl.Expr]:
    """Rows whose column ``kind`` says whether ``name`` is a group or a topic."""

    def shown(viewer: Viewer) -> pl.Expr:
        group = (pl.col(kind) == "group") & seen(viewer, group=pl.col(name))
        return group | ((pl.col(kind) == "topic") & seen(viewer, topic=pl.col(name)))

    return shown


def _dead_letters(viewer: Viewer) -> pl.Expr:
    return (pl.col("source") == "kafka") & seen(viewer, topic=pl.col("name"))


def _labelled(viewer: Viewer) -> pl.Expr:
    """Rows with labels that name a group or a topic, each of them shown."""
    group, topic = (_entry("labels", key) for key in ("group", "topic"))
    return (group.is_not_null() | topic.is_not_null()) & seen(viewer, group=group, topic=topic)


def _entry(column: str, key: str) -> pl.Expr:
    entry = pl.element().struct
    return (
        pl.col(column)
        .list.eval(entry.field("value").filter(entry.field("key") == key))
        .list.first()
    )


def _changed(viewer: Viewer) -> pl.Expr:
    return (pl.col("kind") == "members") & seen(viewer, group=pl.col("name"))


def _happened(viewer: Viewer) -> pl.Expr:
    """Changes of one group or topic, each of them shown; those of the cluster name others."""
    group, topic = pl.col("group"), pl.col("topic")
    return (group.is_not_null() | topic.is_not_null()) & seen(viewer, group=group, topic=topic)


def _cluster(viewer: Viewer) -> pl.Expr:
    return seen(viewer)


SHOWN_BY: dict[Table, Callable[[Viewer], pl.Expr]] = {
    **{
        table: _name("group")
        for table in (
            *(GROUPS, GROUP_MEMBERS, REBALANCES, GROUP_HISTORY, LAG_ANOMALIES),
            *(CAPACITY, CAPACITY_INTERVALS),
            *(current.GROUP_STATUS, current.GROUP_COURSE),
        )
    },
    **{
        table: _name("topic")
        for table in (
            *(PARTITIONS, TOPICS, TOPIC_HISTORY, SCHEMA_SUBJECTS),
            *(current.TOPIC_STATUS, current.PARTITIONS_AT_RISK),
        )
    },
    **{
        table: _both
        for table in (
            *(GROUP_OFFSETS, GROUP_PARTITION_HISTORY, SKEW),
            *(current.GROUP_PARTITION_STATUS, current.READERS),
        )
    },
    **{table: _subject("subject", "name") for table in (SEASONALITY, FORECASTS, CHANGES)},
    **{
        table: _subject("subject_kind", "subject")
        for table in (RECOMMENDATIONS, current.CHANGED_ADVICE)
    },
    DEAD_LETTERS: _dead_letters,
    DEAD_LETTER_HISTORY: _dead_letters,
    current.OPEN_ALERTS: _labelled,
    current.RECENT_CHANGES: _changed,
    CLUSTER_EVENTS: _happened,
    **{
        table: _cluster
        for table in (
            BROKERS,
            COLLECTIONS,
            WAITING_COLLECTORS,
            current.BROKER_STATUS,
            current.CLUSTER_STATUS,
        )
    },
}
"""By what a row is shown to whom does not see the whole cluster."""

_WHOLE: dict[Table, tuple[str, ...]] = {
    current.CLUSTER_STATUS: ("brokers", "missing_brokers", "newest_poll_at", "unreadable"),
}
"""Columns that stay of a row about the whole cluster; all others count what is hidden."""

_REDUCED: dict[Table, tuple[str, ...]] = {
    current.TOPIC_STATUS: ("groups", "slowest_group", "slowest_time_lag_seconds"),
    current.BROKER_STATUS: ("leaders", "replicas", "log_bytes", "unknown_reason"),
    BROKERS: ("leaders", "replicas", "under_replicated", "log_bytes", "unknown_reason"),
    current.GROUP_STATUS: ("data_loss_topic", "data_loss_partition"),
    COLLECTIONS: ("error", "rows"),
    TOPICS: ("unknown_reason",),
    DEAD_LETTERS: (
        *("origin", "redrive_group", "origins", "newest_record", "oldest_record"),
        "unknown_reason",
    ),
}
"""Columns that may name or count what is hidden: unknown to whom does not see the whole cluster."""

_TEXTS: dict[Table, tuple[str, ...]] = {
    current.GROUP_STATUS: ("reason",),
    current.GROUP_PARTITION_STATUS: ("reason",),
    current.OPEN_ALERTS: ("what", "detail", "cause", "step", "page", "inhibited_by", "runbook"),
    CLUSTER_EVENTS: ("subject", "before", "after", "detail"),
    **{
        table: (
            *("reason", "consequence", "caveats", "evidence", "artefacts", "keda"),
            "unknown_reason",
        )
        for table in (RECOMMENDATIONS, current.CHANGED_ADVICE)
    },
}
"""Texts about what is shown, which may name what is not."""

HIDDEN_NAME = "(hidden)"
_TOKEN = re.compile(r"[\w.\-]+")
_PARTITION = re.compile(r"-\d+$")
_NAMES_STAND_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenNames:
    """Names of groups and topics that a viewer is not to read, in texts about others."""

    plain: frozenset[str]
    odd: tuple[str, ...]  # with characters at which a text is cut into words

    @classmethod
    def of(cls, names: Iterable[str]) -> HiddenNames:
        """Sort the names by how they are found."""
        every = frozenset(names)
        odd = {name for name in every if not _TOKEN.fullmatch(name)}
        return cls(plain=every - odd, odd=tuple(sorted(odd, key=len, reverse=True)))

    def without(self, text: str) -> str:
        """Return a text in which none of the names stands."""
        for name in self.odd:
            text = text.replace(name, HIDDEN_NAME)
        return _TOKEN.sub(self._one, text)

    def _one(self, found: re.Match[str]) -> str:
        word = found.group()
        bare = word.rstrip(".-")
        is_hidden = not self.plain.isdisjoint((word, bare, _PARTITION.sub("", bare)))
        return HIDDEN_NAME if is_hidden else word


class VisibleCurrentStore(CurrentStore):
    """The tables of the present as somebody sees them."""

    def __init__(self, settings: LakeSettings, viewer: Viewer) -> None:
        super().__init__(settings)
        self._viewer = viewer
        self._hidden: dict[str, tuple[float, HiddenNames]] = {}

    def read(self, table: Table, cluster: str, *predicates: pl.Expr) -> pl.DataFrame | None:
        """Return the rows that are shown; see ``CurrentStore.read``."""
        rows = super().read(table, cluster)
        if rows is None or (not predicates and self._viewer.sees_all_of(cluster)):
            return rows
        shown = self.visible(table, rows.lazy(), cluster)
        return (shown.filter(*predicates) if predicates else shown).collect()

    def visible(self, table: Table, frame: pl.LazyFrame, cluster: str | None) -> pl.LazyFrame:
        """Return the rows of a table that are shown, without what tells of others."""
        viewer = self._viewer
        if viewer.sees_all or (cluster is not None and viewer.sees_all_of(cluster)):
            return frame
        if cluster is None or table not in SHOWN_BY:
            return frame.filter(_HIDDEN)
        rows = frame.filter(SHOWN_BY[table](viewer))
        schema = table.polars_schema
        unknown = _REDUCED.get(table, ())
        if table in _WHOLE:
            kept = {"cluster", table.time, *_WHOLE[table]}
            unknown = tuple(name for name in schema if name not in kept)
        changed = [pl.lit(None, schema[name]).alias(name) for name in unknown]
        if table is current.GROUP_STATUS:
            seen_topics = partial(_only, viewer, cluster)
            changed.append(pl.col("topics").map_elements(seen_topics, schema["topics"]))
        texts = _TEXTS.get(table)
        if texts:
            hidden = self.hidden_names(cluster)
            changed += [pl.col(name).map_elements(hidden.without, pl.String) for name in texts]
        return rows.with_columns(changed)

    def hidden_names(self, cluster: str) -> HiddenNames:
        """Return the names of a cluster's groups and topics that are hidden at present."""
        at, found = self._hidden.get(cluster, (float("-inf"), HiddenNames.of(())))
        if time.monotonic() - at < _NAMES_STAND_SECONDS:
            return found
        hidden: set[str] = set()
        shown: set[str] = set()
        for table, kind in ((current.GROUP_STATUS, "group"), (current.TOPIC_STATUS, "topic")):
            rows = super().read(table, cluster)
            for name in [] if rows is None else rows[kind].to_list():
                seen_one = self._viewer.sees(cluster, **{kind: name})
                (shown if seen_one else hidden).add(name)
        found = HiddenNames.of(hidden - shown)
        self._hidden[cluster] = (time.monotonic(), found)
        return found


class VisibleLake(Lake):
    """A lake that shows what somebody sees."""

    def __init__(self, settings: LakeSettings, viewer: Viewer) -> None:
        super().__init__(settings)
        self.current: VisibleCurrentStore = VisibleCurrentStore(settings, viewer)
        self._kept = KeptSeries()

    def as_written(
        self,
        table: Table,
        predicates: Sequence[pl.Expr],
        columns: Sequence[str],
        *,
        since: datetime | None,
        until: datetime | None,
        cluster: str | None,
    ) -> pl.DataFrame:
        """Return rows as they lie in the files; the newest ones of few series are kept.

        A page is drawn again at each poll: of a hundred files, only the new ones are opened then.
        """
        # All columns: whoever asks for the same series next, for others of them, finds them kept.
        kept_columns = list(table.polars_schema) if predicates else columns

        def between(first: datetime, end: datetime | None) -> pl.DataFrame:
            return super(VisibleLake, self).as_written(
                table, predicates, kept_columns, since=first, until=end, cluster=cluster
            )

        # Of all series, as of a few: what turns out to be too much is not kept.
        is_of_whole_series = all(is_of_series(table, one) for one in predicates)
        is_over = until is not None and until < datetime.now(UTC)
        handle = None if since is None or is_over or not is_of_whole_series else self.handle(table)
        if handle is None or since is None:
            return super().as_written(
                table, predicates, columns, since=since, until=until, cluster=cluster
            )
        actions = self.files_of(table, handle)

        def of_files(paths: frozenset[str], first: datetime) -> pl.DataFrame:
            new = actions.filter(pl.col("path").is_in(paths))
            frame = scan_files(self, table, new, cluster=cluster, since=first)
            shown = self.current.visible(table, frame, cluster)
            return self.collect(table, asked(table, shown, predicates).select(kept_columns))

        series = (one.meta.serialize() for one in predicates)
        key = (table.name, cluster, *kept_columns, *series)
        files = frozenset(actions["path"].to_list())
        rows = self._kept.read(key, table.time, since, files, between, of_files).select(columns)
        return rows if until is None else rows.filter(pl.col(table.time) < until)

    def scan(
        self,
        table: Table,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        cluster: str | None = None,
    ) -> pl.LazyFrame:
        """Return the rows that are shown; see ``Lake.scan``."""
        frame = super().scan(table, since=since, until=until, cluster=cluster)
        return self.current.visible(table, frame, cluster)


def seen(viewer: Viewer, **names: pl.Expr) -> pl.Expr:
    """Return whether a row's group and topic are shown; one that is null asks nothing."""

    def shown(found: pl.Series) -> pl.Series:
        rows = found.struct.unnest()
        each = rows.unique()
        answers = [viewer.sees(**row) for row in each.iter_rows(named=True)]
        each = each.with_columns(pl.Series("shown", answers, pl.Boolean))
        return rows.join(
            each, on=rows.columns, how="left", nulls_equal=True, maintain_order="left"
        )["shown"]

    columns = [pl.col("cluster"), *(expression.alias(name) for name, expression in names.items())]
    return pl.struct(columns).map_batches(shown, pl.Boolean(), is_elementwise=True)


def _only(viewer: Viewer, cluster: str, topics: Iterable[str]) -> list[str]:
    return [topic for topic in topics if viewer.sees(cluster, topic=topic)]
