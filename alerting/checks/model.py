"""What a check is: the tables that it looks at, and what it says of each thing in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

import polars as pl

from alerting.checks.loss_deadline import GroupLosses, kept_by_topic, next_losses, retentions_of
from alerting.checks.retention_deadline import Retention
from alerting.inputs.frames import Frames
from alerting.inputs.sources import section_states
from alerting.inputs.windows import GroupKey
from alerting.status.model import GroupStatus, Status
from lake.replication import with_replication
from lake.schemas.model import Table
from lake.schemas.tables import GROUPS, PARTITIONS, TOPICS

Page = Literal[
    "overview", "group", "brokers", "topic", "dead_letters", "connect", "queues", "health"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What a check says of one thing at one moment.

    Attributes:
        labels: Which thing: always ``cluster``, then what the check names. Where the value is
            None, labels may be missing: then nothing is known of any thing that has the others.
        value: In the unit of the check; None: it was not known, which is neither true nor
            untrue.
        is_read: Whether all is known, where the value is None: then it is only no reason to begin
            or to end an alert.
        may_be_worse: Part of what the value is made from is unknown: it can make a rule true, but
            not untrue.
        stands: What was wrong is mended and its damage is not: an alert that fires goes on, and
            none begins.
        what: The thing and its state in a few words: ``payments stalled``.
        since: Since when in Unix seconds, where known.
        began_before: Whether it may have been so before ``since``: it was in the first sample.
        began: When the trouble began that led to it, which is earlier; None: with it.
        deadline: When messages are deleted at the present rates, in Unix seconds, where known. No
            text names it: it moves on, and texts are kept.
        page: Page of the dashboard that shows it; its parameters are among the labels.
        related: Further labels that tell causes from symptoms; no part of its identity.
    """

    labels: Mapping[str, str]
    value: float | None
    is_read: bool = False
    may_be_worse: bool = False
    stands: bool = False
    what: str = ""
    detail: str = ""
    since: float | None = None
    began_before: bool = False
    began: float | None = None
    deadline: float | None = None
    cause: str = ""
    step: str = ""
    page: Page = "overview"
    status: str | None = None
    related: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation(CheckResult):
    """What a check saw of one thing at one moment, with the name of the check."""

    check: str


_RESULT_FIELDS = tuple(one.name for one in fields(CheckResult))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialData:
    """A source of a check was read in part: things whose rows are missing may still be there.

    Attributes:
        since: From this moment on rows may be missing, in Unix seconds. What was seen later
            and has no row any more is gone.
        present: Things whose rows are there: the values of the check's labels.
    """

    check: str
    labels: Mapping[str, str]
    since: float
    present: frozenset[tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class CheckInput:
    """What checks look at: the rows of one cluster, and what its groups are doing."""

    frames: Frames
    classify: Callable[[Frames], Mapping[GroupKey, GroupStatus]]

    def labels(self, **of_thing: str) -> dict[str, str]:
        """Return the labels of a thing in this cluster."""
        return {"cluster": self.frames.cluster, **of_thing}

    @cached_property
    def statuses(self) -> Mapping[GroupKey, GroupStatus]:
        """What each group is doing."""
        return self.classify(self.frames)

    @cached_property
    def troubled(self) -> Mapping[GroupKey, GroupStatus]:
        """The groups that are not fine."""
        return {key: found for key, found in self.statuses.items() if found.status is not Status.OK}

    @cached_property
    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        """The newest row of each group."""
        return _by(self.frames.last(GROUPS), "group", "kind", "state", "members", "idle_members")

    @cached_property
    def topics(self) -> Mapping[str, Mapping[str, Any]]:
        """The newest row of each topic."""
        return _by(self.frames.last(TOPICS), "topic", "retention_seconds", "unknown_reason")

    @cached_property
    def kept(self) -> Mapping[str, Retention]:
        """What each topic keeps."""
        return kept_by_topic(self.frames.last(TOPICS))

    @cached_property
    def losses(self) -> GroupLosses:
        """What retention deletes next of what each group has not read."""
        retentions = retentions_of(self.frames)
        return {key.group: next_losses(found, retentions) for key, found in self.statuses.items()}

    @cached_property
    def partitions(self) -> pl.DataFrame:
        """The newest rows of the partitions, and whether their replicas are as they should be."""
        return with_replication(self.frames.newest(PARTITIONS))

    @cached_property
    def sections(self) -> pl.DataFrame:
        """The newest attempt of each section of the collection."""
        return section_states(self.frames)


def _by(rows: pl.DataFrame, name: str, *columns: str) -> dict[str, Mapping[str, Any]]:
    return {row[name]: row for row in rows.select(name, *columns).iter_rows(named=True)}


Evaluate = Callable[[CheckInput], Iterable[CheckResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Something that is observed at each poll; ``check`` makes one of a function.

    A thing without an observation is gone or fine, as long as all sources were read. While one
    of them was not, an alert of the check stays as it is.
    """

    evaluate: Evaluate  # tells what it sees
    name: str  # how rules name it
    unit: str  # of its values
    meaning: str  # what the value is
    labels: tuple[str, ...]  # what names a thing beside ``cluster``; columns of the sources
    bad: Literal["above", "below"]  # whether a value above or below the threshold is an alert
    sources: tuple[Table, ...]  # the tables that it looks at, but for its words
    is_observed: bool = False  # a state that is seen, such as a broker: nothing is estimated

    @property
    def columns(self) -> Mapping[str, str]:
        """The columns of its sources that name a thing, with their labels."""
        return {"broker_id" if label == "broker" else label: label for label in self.labels}

    def observe(self, given: CheckInput) -> Iterator[Observation]:
        """Yield what the check says of each thing, under its name."""
        for one in self.evaluate(given):
            values = {name: getattr(one, name) for name in _RESULT_FIELDS}
            yield Observation(check=self.name, **values)


def check(
    *,
    unit: str,
    meaning: str,
    sources: tuple[Table, ...],
    labels: tuple[str, ...] = (),
    bad: Literal["above", "below"] = "above",
    name: str = "",
    is_observed: bool = False,
) -> Callable[[Evaluate], Check]:
    """Make a check of a function, whose name it bears unless another one is given."""
    return lambda evaluate: Check(
        evaluate=evaluate,
        name=name or evaluate.__name__,
        unit=unit,
        meaning=meaning,
        labels=labels,
        bad=bad,
        sources=sources,
        is_observed=is_observed,
    )
