"""The rows of the decision table: one subject a row. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any

import polars as pl

from alerting.status.model import Status
from app.style.format import clock, exact
from app.ui import group_list, loss_words, routes
from app.ui.advice import advice_cards
from app.ui.advice.listed_under import UNDER, with_place
from app.ui.advice.overtaken import WITHDRAWN, Known, Overtaken, is_folded
from app.ui.browser.items import Item, Target
from app.views.scaling import brief
from scaling.advice.advice_table import from_row
from scaling.advice.model import AdviceKind, Recommendation, Subject
from scaling.advice.stored_advice import IS_CHANGE

PARAMETER = "advice"
"""The parameter of the address that names the chosen row."""

HEADS = ("Change", "Why", "Also", "When")
"""What the columns of the rows are."""

LINKS = {
    Subject.GROUP: routes.GROUP,
    Subject.TOPIC: routes.TOPIC,
    Subject.CONNECTOR: routes.CONNECT,
    Subject.CONNECTION: routes.CONNECT,
    Subject.QUEUE: routes.QUEUES,
}
"""The page of each kind of subject."""

LOST = datetime.fromtimestamp(0, UTC)
"""The deadline of what is lost already: before all others, and never to come."""

_SAID = 3
_NONE: Mapping[str, Overtaken] = {}
_UNKNOWN: Mapping[str, brief.Figures] = {}
_NOBODY: Mapping[str, str] = {}


def row_id(row: Mapping[str, Any]) -> str:
    """Return what names a row of ``recommendations`` in the address."""
    return f"{row['subject_kind']}:{row['subject']}:{row['kind']}:{row['number'] or 0}"


def subject_of(asked: str) -> tuple[str, str]:
    """Return the kind and the name of the subject in a row's name; names may have colons."""
    kind, _, subject = asked.rsplit(":", 2)[0].partition(":")
    return kind, subject


def chosen(rows: pl.DataFrame, asked: str | None) -> dict[str, Any] | None:
    """Return the row that the address asks for.

    What is advised on a subject changes: another row on the same subject stands in for one that is
    not there any more.

    Args:
        rows: Rows of ``recommendations``, the most urgent first.
        asked: The row's name in the address; None: the first one.

    Returns:
        None where there is no row, or none on that subject.
    """
    if asked is None:
        return next(rows.head(1).iter_rows(named=True), None)
    kind, subject = subject_of(asked)
    about = rows.filter(pl.col("subject_kind") == kind, pl.col("subject") == subject)
    found = list(about.iter_rows(named=True))
    return next((row for row in found if row_id(row) == asked), found[0] if found else None)


def deadlines_of(groups: pl.DataFrame) -> dict[str, datetime | None]:
    """Return when messages of each group are deleted; of one that loses data now, ``LOST``.

    Groups are rows of ``group_status``.
    """
    has_lost = pl.col("status") == Status.LOSING_DATA
    loses = has_lost & pl.col("loses_now").fill_null(value=True)
    at = pl.when(loses).then(pl.lit(LOST)).otherwise("data_loss_at")
    return dict(groups.select("group", at.alias("at")).iter_rows())


def lost_lately(groups: pl.DataFrame, now: datetime) -> dict[str, str]:
    """Say of each group that lost data, and loses none now, how long ago that was.

    Args:
        groups: Rows of ``group_status``.
        now: The present.
    """
    past = groups.filter(pl.col("status") == Status.LOSING_DATA, ~pl.col("loses_now"))
    return {row["group"]: group_list.loss(row, now) for row in past.iter_rows(named=True)}


def overtaken(
    rows: pl.DataFrame, known: Known, *, zone: tzinfo, now: datetime
) -> tuple[dict[str, Overtaken], pl.Series]:
    """Return what is newer than advice, and which rows are no answer to what their group does.

    Args:
        rows: Rows of ``recommendations``.
        known: What groups and topics do now.
        zone: The viewer's zone.
        now: The present.

    Returns:
        What is newer, by the names of rows; and of each row whether it is void.
    """
    older: dict[str, Overtaken] = {}
    void = []
    may_be_older = pl.col("subject").is_in([*known.groups, *known.topics])
    for row in rows.with_row_index("at").filter(may_be_older).iter_rows(named=True):
        newer = known.overtakes(row, zone=zone, now=now)
        if newer is not None:
            older[row_id(row)] = newer
            if is_folded(row, newer):
                void.append(row["at"])
    return older, pl.int_range(rows.height, eager=True).is_in(void)


def items(
    rows: pl.DataFrame,
    deadlines: Mapping[str, datetime | None],
    *,
    lost: Mapping[str, str] = _NOBODY,
    figures: Mapping[str, brief.Figures] = _UNKNOWN,
    older: Mapping[str, Overtaken] = _NONE,
    picked: str | None,
    now: datetime,
    zone: tzinfo,
    measured_at: datetime | None = None,
    withdrawn: Mapping[str, str] | None = None,
) -> list[Item]:
    """Return rows of ``recommendations`` as rows of the table: one for each subject.

    The first piece of advice on a subject stands there; the further ones are links, and folded. So
    is what is advised on its topic too. What the row says already is folded with its link: the same
    change on the topic, and that retention is close where the row says when data is lost.

    Args:
        rows: The rows, in their order.
        deadlines: When messages of each group are deleted, as the other pages say.
        lost: How long ago groups lost data that lose none now.
        figures: What the figures of each group are now, as far as known.
        older: What is newer than advice, by the names of rows.
        picked: The name of the row whose card is shown.
        now: The present.
        zone: The viewer's zone.
        measured_at: When the figures of most rows were measured, which the page says of all: a row
            of another moment says its own.
        withdrawn: Why the newest round did not give this advice, by the names of rows; None: it
            did.
    """
    found = []
    word = "measured" if withdrawn is None else "last given"
    for listed in with_place(rows).partition_by(UNDER, maintain_order=True):
        # What stands with its group comes after what is advised on the group itself.
        is_own = pl.concat_str("subject_kind", "subject", separator=":") == pl.col(UNDER)
        about = listed.sort(~is_own, maintain_order=True)
        names = [row_id(row) for row in about.iter_rows(named=True)]
        advice, *further = [from_row(row) for row in about.iter_rows(named=True)]
        newer, at = older.get(names[0]), about["confirmed_at"][0]
        group = advice.subject if advice.subject_kind is Subject.GROUP else ""
        deadline, now_there = deadlines.get(group), figures.get(group)
        until = "" if withdrawn is not None else lost.get(group) or _until(deadline, now)
        cards = [
            (_card_of(_further(one, advice), name), _is_said(one, advice, until))
            for one, name in zip(further, names[1:], strict=True)
        ]
        found.append(
            Item(
                id=names[0],
                badge=advice_cards.badge_style(advice, newer) if withdrawn is None else WITHDRAWN,
                what=advice.subject,
                when="" if at == measured_at else f"{word} {clock(at, zone, now=now)}",
                why=_why(advice, newer, now_there) if withdrawn is None else withdrawn[names[0]],
                until=until,
                is_far=group in lost or loss_words.is_far(deadline, now),
                link=_card_of(advice_cards.headline(advice, newer), names[0]),
                links=[card for card, is_said in cards if not is_said],
                acts=[card for card, is_said in cards if is_said],
                more=[
                    f"{_further(one, advice)}: {_why(one, older.get(name), now_there)}"
                    for one, name in zip(further, names[1:], strict=True)
                ],
                is_chosen=picked in names,
            )
        )
    return found


def overtaken_line(rows: pl.DataFrame, older: Mapping[str, Overtaken]) -> str:
    """Say which changes were overtaken, and by what; nothing where none was.

    Args:
        rows: Rows of ``recommendations`` that are no answer any more.
        older: What is newer than advice, by the names of rows.
    """
    changes = rows.filter(IS_CHANGE)
    said = [
        f"{advice.subject} ({advice_cards.change(advice)}) by {older[row_id(row)].now}"
        for row in changes.head(_SAID).iter_rows(named=True)
        for advice in (from_row(row),)
    ]
    more = [f"{changes.height - _SAID} more"] if changes.height > _SAID else []
    return f"Overtaken: {'; '.join([*said, *more])}." if said else ""


_OVER: Mapping[AdviceKind, str] = {
    AdviceKind.DATA_LOST: "No loss was seen in the ten minutes before",
    AdviceKind.RETENTION_DEADLINE: "Retention is not near what waits any more",
}
"""Why advice is withdrawn whose reason is no matter of what is advised instead."""


def why_withdrawn(row: Mapping[str, Any], newest: pl.DataFrame) -> str:
    """Say in a few words why a change is not advised any more.

    Args:
        row: A row of ``recommendations`` that the round before gave.
        newest: The rows of the newest round, the most urgent first.
    """
    about = newest.filter(
        pl.col("subject_kind") == row["subject_kind"], pl.col("subject") == row["subject"]
    )
    quantity, then = row["quantity"], row["current"]
    counted = about.filter(pl.col("quantity") == quantity)["current"].drop_nulls()
    if quantity and then is not None and counted.len() and counted[0] != then:
        return f"It has {exact(counted[0])} {quantity} now, {exact(then)} then"
    if about.is_empty():
        return "It is not there now"
    given = from_row(about.row(0, named=True))
    is_of_consumers = given.subject_kind is Subject.GROUP or given.kind is AdviceKind.UNKNOWN
    said = (
        _capital(brief.why(given))
        if is_of_consumers
        else "What it followed from was not found again"
    )
    return said if given.kind is AdviceKind.UNKNOWN else _OVER.get(AdviceKind(row["kind"]), said)


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def last_given(given: pl.DataFrame, asked: str) -> datetime | None:
    """Return when a change was last advised on the subject that the address asks for.

    Args:
        given: Rows of ``recommendations`` of the last days.
        asked: A row's name.
    """
    kind, subject = subject_of(asked)
    about = given.filter(pl.col("subject_kind") == kind, pl.col("subject") == subject)
    at = about["confirmed_at"].max()
    return at if isinstance(at, datetime) else None


def _until(deadline: datetime | None, now: datetime) -> str:
    return loss_words.LOSES_NOW if deadline == LOST else loss_words.deadline(deadline, now)


def _card_of(label: str, name: str) -> Target:
    return Target(label=label, page=routes.SCALING, parameters={PARAMETER: name})


def _is_said(one: Recommendation, first: Recommendation, until: str) -> bool:
    """Return whether a row says what further advice says: its change, and how soon data is lost."""
    is_same = advice_cards.change(one) == advice_cards.change(first)
    return is_same or (until != "" and one.kind is AdviceKind.RETENTION_DEADLINE)


def _further(one: Recommendation, first: Recommendation) -> str:
    is_own = one.subject_kind is first.subject_kind and one.subject == first.subject
    change = advice_cards.change(one)
    return change if is_own else f"{change} (topic {one.subject})"


def _why(advice: Recommendation, newer: Overtaken | None, figures: brief.Figures | None) -> str:
    return brief.why(advice, figures) if newer is None else f"Older than {newer.now}"


def groups(rows: pl.DataFrame) -> Sequence[str]:
    """Return the names of the groups that advice is about, in the order of the rows."""
    on_groups = rows.filter(pl.col("subject_kind") == Subject.GROUP)
    return on_groups["subject"].unique(maintain_order=True).to_list()
