"""A week of a cluster in tables: pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

import polars as pl

from alerting.rules.folding import as_it_was
from alerting.rules.lifecycle import Alert
from alerting.rules.model import AlertSeverity
from app.style.columns import DASH, Column
from app.style.format import BRIEFLY, count, duration, exact, listing
from app.style.theme import BadgeStyle
from app.ui.alert_list import EVERY_SEVERITY, at_worst, cut_note, moment, severity_style
from app.ui.incidents import LOSES_DATA, Incident, mended_at, never_fired, worst_time
from app.ui.symptoms import counted, symptoms_of
from app.ui.time_axis import how_much
from scaling.advice.follow_up import AdviceOutcome, Followed

WEEK = timedelta(days=7)
_NAMED = 10
_NOTES = [severity_style(AlertSeverity.INFO, is_over=is_over).label for is_over in (False, True)]
"""How rows of incidents that only note something are marked: they are counted apart."""
NOT_YET = "not in the history yet"
LASTED = "Within this week, until the cause was mended: its alert and symptoms may be over later."


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A table of the report.

    Attributes:
        rows: The rows; those of ``columns`` are shown.
        nothing: What stands there where no row is.
        note: What must be known to read it.
        total: How many rows there are, where these are a part of them.
        is_known: Whether what has no row was so for no row: else it may not have been measured.
        is_cut: Whether there were more than are read at once.
        over_now: How many groups miss their objective at present.
    """

    key: str
    title: str
    rows: pl.DataFrame
    columns: Mapping[str, Column]
    noun: str
    nothing: str
    note: str = ""
    total: int | None = None
    is_known: bool = True
    is_cut: bool = False
    over_now: int = 0


def week(now: datetime, back: int) -> tuple[datetime, datetime]:
    """Return a week's first moment and its end: ``back`` 0 is the one that ends now."""
    end = now - back * WEEK
    return end - WEEK, end


def measured(
    first: datetime | None, start: datetime, end: datetime, *, zone: tzinfo, now: datetime
) -> str:
    """Say how much of a week was measured; nothing where that is nearly all of it.

    Args:
        first: The first moment of the week's history that was measured.
        start: The week's first moment.
        end: Its end.
        zone: The viewer's.
        now: The present.
    """
    if first is None or first >= end:
        return "There is no measured history of this week."
    return how_much(first, start, end, zone=zone, now=now) or ""


def incident_part(
    found: Sequence[Incident],
    start: datetime,
    end: datetime,
    *,
    lost: Mapping[str, str] | None = None,
    is_cut: bool = False,
) -> Part:
    """Return the causes that were open in the week.

    Of one that began earlier or goes on, what lies in the week counts.

    Args:
        found: The incidents, in order.
        start: The week's first moment.
        end: Its end.
        lost: What was deleted unread in all, by the id of a cause.
        is_cut: Whether the week has more alerts than are read at once.
    """
    rows = []
    for one in found:
        began = moment(one.began_at)
        is_inside = one.overlaps(start.timestamp(), end.timestamp())
        if began is None or not is_inside or never_fired(one.cause):
            continue
        cause, symptoms = as_it_was(one.cause), counted(symptoms_of(one))
        bad, in_all = at_worst(worst_time(one)), (lost or {}).get(cause.id, "")
        rows.append(
            {
                "id": cause.id,
                "severity": [had(one).label],
                "what": cause.what,
                "began": began,
                "began_before": [*one.earlier, cause][0].began_before,
                "ended": moment(mended_at(cause)),
                "now": goes(one),
                "seconds": sum(_seconds(each, start, end) for each in (*one.earlier, cause)),
                "symptoms": symptoms.fired,
                "not_fired": symptoms.pending + symptoms.never_fired,
                "detail": _how_bad(bad, in_all, loses=cause.check == LOSES_DATA),
            }
        )
    time = pl.Datetime("us", "UTC")
    frame = pl.DataFrame(
        rows,
        schema={
            **{"id": pl.String, "severity": pl.List(pl.String), "what": pl.String},
            **{"began": time, "began_before": pl.Boolean, "ended": time},
            **{
                "now": pl.String,
                "seconds": pl.Float64,
                "symptoms": pl.Int64,
                "not_fired": pl.Int64,
            },
            "detail": pl.String,
        },
    )
    return Part(
        key="incidents",
        title="Incidents",
        rows=frame,
        columns={
            "severity": Column("severity", "status", badge_styles=EVERY_SEVERITY),
            "what": Column("what"),
            "began": Column("began", "time", help=BRIEFLY, at_least="began_before"),
            "ended": Column("over", "time", unknown=""),
            "now": Column("now"),
            "seconds": Column("lasted", "duration", help=LASTED),
            "detail": Column("how bad", help="At its worst, of all evaluations."),
            "symptoms": Column("symptoms", "count", help="All, whenever they fired."),
            "not_fired": Column("too short", "count", help="To alert: pending, now or until over."),
        },
        noun="causes: what goes on, most urgent first, then what is over, newest first",
        nothing="Nothing fired in this week.",
        note=cut_note(is_cut=is_cut),
        is_cut=is_cut,
    )


def had(one: Incident) -> BadgeStyle:
    """Return how bad an incident was at its worst; in the past once it mends or is over."""
    is_past = one.ended_at is not None or one.is_recovering or one.is_catching_up
    return severity_style(one.cause.severity, is_over=is_past)


def goes(one: Incident) -> str:
    """Say whether an incident goes on."""
    if one.ended_at is not None:
        return "over"
    if one.is_catching_up:
        return "catches up"
    return "mended" if one.is_recovering or mended_at(one.cause) is not None else "goes on"


def _how_bad(worst: str, in_all: str, *, loses: bool) -> str:
    """Say how bad a cause was: of a loss all of it, since that of some minutes reads as another."""
    if not worst or (loses and in_all):
        return in_all
    return f"{worst.removesuffix('.')}. {in_all}" if in_all else worst


def _seconds(cause: Alert, start: datetime, end: datetime) -> float:
    """Return how long a cause lasted within a time, until it was mended."""
    began, mended = moment(cause.began_at) or start, moment(mended_at(cause)) or end
    return max(0.0, (min(mended, end) - max(began, start)).total_seconds())


def objective_part(
    late: pl.DataFrame,
    now_late: pl.DataFrame | None = None,
    *,
    until: str = "",
    is_measured: bool = True,
) -> Part:
    """Return for how long each group missed its objective, last those that do so only now.

    Args:
        late: Rows of ``late_hours.by_group``.
        now_late: Rows of ``late_hours.over_now``: the history follows later.
        until: When the history ends, where that is before the week does.
        is_measured: Whether anything of the week was.
    """
    now_late = late.clear() if now_late is None else now_late
    later = now_late.join(late, on="group", how="anti", maintain_order="left")
    rows = pl.concat([late, later.cast(late.schema)])
    names = listing(now_late["group"].to_list(), limit=_NAMED)
    end = f"Counted is until {until}, the last minute of history."
    return Part(
        key="objectives",
        title="Time over objective",
        rows=rows,
        columns={
            "group": Column("group", width=200),
            "objective_seconds": Column("objective", "duration", width=80),
            "over_seconds": Column(
                "over it for",
                "duration",
                width=110,
                unknown=NOT_YET,
                help="A minute counts if it was missed for a moment.",
            ),
            "worst_seconds": Column("worst time lag", "duration", width=106),
            "worst_at": Column("at", "time", width=102),
        },
        noun="groups, the longest first",
        nothing="No group exceeded its objective, as far as is known."
        if is_measured
        else "Whether a group exceeded its objective is not known.",
        is_known=is_measured,
        over_now=now_late.height,
        note=" ".join(
            text
            for text, is_so in (
                ("Counted are minutes with a time lag above the objective at some moment.", True),
                (end, until),
                ("An hour whose minutes are not kept counts whole.", late["whole_hours"].sum() > 0),
                (f"Over it now: {names}.", now_late.height),
                (f"Those that are {NOT_YET} are over it now.", later.height),
                ("Generated history is in it.", late["is_generated"].any()),
            )
            if is_so
        ),
    )


def growth_part(contributors: pl.DataFrame) -> Part:
    """Return what changed most against the week before, from rows of ``contributors``."""
    return Part(
        key="growth",
        title="Growth",
        rows=contributors,
        columns={
            "topic": Column("topic", width=220),
            "before_per_second": Column("the week before", "rate"),
            "now_per_second": Column("this week", "rate"),
            "change_per_second": Column("change", "change"),
            "share_ratio": Column(
                "of all growth or decline",
                "share",
                help="How much of what all growing topics grew by is this one's; of a topic that "
                "shrank, how much of what all shrinking ones lost.",
            ),
        },
        noun="topics, the largest change first",
        nothing="Growth is known once the history holds two weeks, and of the newest week alone.",
        note="Generated history is in it."
        if bool(contributors["generated"].fill_null(value=False).any())
        else "",
    )


def advice_part(
    given: pl.DataFrame,
    became: Sequence[AdviceOutcome],
    texts: Sequence[str],
    end: datetime,
    *,
    total: int,
) -> Part:
    """Return what became of the week's advice, and what following it saved.

    Args:
        given: Rows of ``recommendations``.
        became: The outcome of each.
        texts: The same in words.
        end: The week's end.
        total: How many there are, of which these are the newest.
    """
    followed = [_IS_FOLLOWED.get(one.followed) for one in became]
    hours = [
        max(0.0, (end - one.at).total_seconds()) / 3600 if one.at is not None else 0.0
        for one in became
    ]
    frame = given.with_columns(
        pl.Series("became", texts, dtype=pl.String),
        pl.Series("is_followed", followed, dtype=pl.Boolean),
        (pl.Series("hours", hours, dtype=pl.Float64) * pl.col("saving")).alias("saved_hours"),
    ).sort("is_followed", "valid_from", descending=True, nulls_last=True)
    return Part(
        key="advice",
        title="Advice",
        rows=frame,
        columns={
            "subject": Column("subject", width=190),
            "change": Column("change", width=180),
            "valid_from": Column("given", "time", width=102),
            "became": Column("what became of it", width=400),
            "saved_hours": Column("consumer-hours saved", "count", unknown=DASH, width=144),
        },
        noun="pieces of advice that name a number",
        nothing="No advice that names a number was given in this week.",
        note="Saved: consumers that were taken away, times the hours since."
        + (
            f" These are the newest {given.height} of {exact(total)}."
            if given.height < total
            else ""
        ),
        total=total,
    )


def headline(parts: Mapping[str, Part], measured: str = "") -> tuple[str, str]:
    """Return the week in a sentence, and what else there is to say of it: counts are of rows.

    Args:
        parts: What is known of the week.
        measured: How much of the week was measured, where that is not nearly all.
    """
    said, more = [], [measured] if measured else []
    if "incidents" in parts:
        found = parts["incidents"]
        notes = found.rows.filter(pl.col("severity").list.first().is_in(_NOTES)).height
        number = count(found.rows.height - notes, "incident")
        said.append(f"at least {number}" if found.is_cut else number)
        if notes:
            said.append(count(notes, "note"))
    if "objectives" in parts:
        part = parts["objectives"]
        over, over_now = part.rows.height, part.over_now
        in_history = part.rows.drop_nulls("over_seconds")
        if over or part.is_known:
            said.append(
                f"{count(over, 'group')} over {'its' if over == 1 else 'their'} objective"
                if over
                else "no group over its objective"
            )
        if in_history.height:
            longest = duration(in_history["over_seconds"][0])
            more.append(f"Longest over it: {in_history['group'][0]}, {longest}.")
        if over_now:
            are = "is" if over_now == 1 else "are"
            who = "It is" if over == 1 else f"{exact(over_now)} of them {are}"
            more.append(f"{who} over it now.")
    if "advice" in parts and (followed := _followed(parts["advice"])):
        said.append(followed)
    sentence = ", ".join(said) if said else "the week is not known"
    return f"{sentence[0].upper()}{sentence[1:]}", " ".join(more)


_IS_FOLLOWED: Mapping[Followed, bool] = {Followed.FOLLOWED: True, Followed.NOT_FOLLOWED: False}
"""Whether advice was followed; of what is not here, such as what stands, that is not known yet."""


def _followed(advice: Part) -> str:
    """Say how much of the advice was followed of which that is known; nothing where none is."""
    judged = advice.rows["is_followed"].drop_nulls()
    if judged.is_empty():
        return ""
    followed = int(judged.sum())
    if advice.total is not None and advice.total > advice.rows.height:
        number = exact(followed) if followed else "none"
        return f"{number} of the newest {count(judged.len(), 'piece', 'pieces')} of advice followed"
    if followed:
        return f"{count(followed, 'piece', 'pieces')} of advice followed"
    return f"{count(judged.len(), 'piece', 'pieces')} of advice not followed"
