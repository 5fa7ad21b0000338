"""Recommendations as cards: the advice is the deciding package's, the look is ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeGuard

import polars as pl
import streamlit as st

from app.style import theme
from app.style.format import count, duration, escape, exact, rate, share, thin
from app.style.theme import BadgeStyle
from app.ui import components, routes
from app.ui.advice.listed_under import UNDER, with_place
from app.ui.advice.overtaken import OLDER, WITHDRAWN, Overtaken
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Caveat,
    CaveatLevel,
    Evidence,
    Recommendation,
)
from scaling.advice.stored_advice import IS_CHANGE
from scaling.advisers.group_evidence import HOT_PARTITIONS
from scaling.advisers.retention import TIME_LEFT

BADGE_STYLES: dict[AdviceSeverity, BadgeStyle] = {
    AdviceSeverity.ACT_NOW: theme.URGENT,
    AdviceSeverity.WATCH: theme.WATCH,
    AdviceSeverity.UNKNOWN: theme.UNSURE,
    AdviceSeverity.INFO: BadgeStyle(
        word="note",
        symbol="i",
        icon=":material/info:",
        colour="blue",
        meaning="Worth knowing; it can wait.",
    ),
}
"""How the severities of recommendations look."""

WORDS: dict[AdviceKind, str] = {
    AdviceKind.DATA_LOST: "keep messages longer",
    AdviceKind.RETENTION_DEADLINE: "retention is close",
    AdviceKind.START_CONSUMERS: "start its consumers",
    AdviceKind.RESTART_CONNECTOR: "restart its connector",
    AdviceKind.BLOCKED_PARTITION: "a partition is blocked",
    AdviceKind.BLOCKED_GROUP: "the group is blocked",
    AdviceKind.HOT_PARTITION: "a hot partition",
    AdviceKind.PARTITION_BOUND: "bound by its partitions",
    AdviceKind.ADD_CONSUMERS: "add consumers",
    AdviceKind.REMOVE_IDLE_CONSUMERS: "remove idle consumers",
    AdviceKind.REMOVE_CONSUMERS: "fewer consumers are enough",
    AdviceKind.DOWNSTREAM: "a bottleneck downstream",
    AdviceKind.ADD_PARTITIONS: "add partitions",
    AdviceKind.HOT_KEY: "a hot key",
    AdviceKind.BROKER_CEILING: "the brokers hold enough",
    AdviceKind.OVER_PARTITIONED: "far too many partitions",
    AdviceKind.DURABILITY: "durability",
    AdviceKind.DEFAULTS: "made with the broker's defaults",
    AdviceKind.TASKS: "change its tasks",
    AdviceKind.CLIENTS: "change its clients",
    AdviceKind.QUEUE_CONSUMERS: "its consumers",
    AdviceKind.PREFETCH: "change the prefetch",
    AdviceKind.MIN_PARTITIONS: "split its partitions",
    AdviceKind.KEEP: "keep as it is",
    AdviceKind.UNKNOWN: "nothing can be advised",
}
"""Each kind of advice in a few words."""

NEED = " need"
"""What the names of figures end with that say how many consumers a need asks for."""

_CAVEATS: dict[CaveatLevel, tuple[str, str]] = {
    CaveatLevel.BLOCKER: ("red", ":material/block:"),
    CaveatLevel.HIGH: ("orange", ":material/warning:"),
    CaveatLevel.MEDIUM: ("gray", ":material/warning:"),
    CaveatLevel.LOW: ("gray", ":material/info:"),
}


def headline(advice: Recommendation, older: Overtaken | None = None) -> str:
    """Return the advice in a line: ``payments: 4 → 6 consumers``."""
    if older is not None and advice.kind is AdviceKind.KEEP:
        return f"{advice.subject}: no advice yet on what it does now"
    return f"{advice.subject}: {change(advice)}"


def change(advice: Recommendation) -> str:
    """Return what is to be changed: ``4 → 6 consumers``."""
    if advice.kind is not AdviceKind.KEEP and advice.proposed is not None and advice.quantity:
        before = "?" if advice.current is None else exact(advice.current)
        return f"{before} → {exact(advice.proposed)} {advice.quantity}"
    return WORDS[advice.kind]


_ACTS: dict[AdviceKind, str] = {
    AdviceKind.HOT_PARTITION: "look at the keys",
    AdviceKind.PARTITION_BOUND: "make the handler faster, or add partitions",
    AdviceKind.DOWNSTREAM: "look at what the handlers call",
    AdviceKind.RETENTION_DEADLINE: "keep messages longer",
    AdviceKind.BLOCKED_PARTITION: "look at the handler's log",
    AdviceKind.BLOCKED_GROUP: "look at the handler's log",
}
"""What to do where the advice names what is wrong: lists have it as the next step."""

_HOT = (HOT_PARTITIONS, "share of the busiest partition")
"""The figures that say which partition is hot, and how hot."""


def in_a_line(advice: Recommendation) -> str:
    """Return what is to be done, of a hot partition which it is and how hot."""
    said, act = change(advice), _ACTS.get(advice.kind)
    if advice.kind is AdviceKind.HOT_PARTITION:
        known = {one.name: written(one) for one in advice.evidence if one.value is not None}
        facts = [known[name] for name in _HOT if name in known]
        said = f"{said}: {', '.join(facts)}" if facts else said
    return f"{said}; {act}" if act else said


_BRIEFER: dict[AdviceKind, str] = {
    AdviceKind.BLOCKED_PARTITION: "blocked partition",
    AdviceKind.BLOCKED_GROUP: "blocked group",
    AdviceKind.HOT_PARTITION: "hot partition",
    AdviceKind.HOT_KEY: "hot key",
    AdviceKind.PARTITION_BOUND: "too few partitions",
    AdviceKind.REMOVE_CONSUMERS: "fewer consumers",
    AdviceKind.DOWNSTREAM: "slow downstream",
}


def in_few_words(advice: Recommendation) -> str:
    """Return advice as a column of a table has room for it."""
    said = change(advice)
    return _BRIEFER.get(advice.kind, said) if said == WORDS[advice.kind] else said


def in_the_past(advice: Recommendation, older: Overtaken) -> str:
    """Say in a line what was advised before its subject changed, where a card would contradict."""
    what = "No change" if advice.kind is AdviceKind.KEEP else f"The change “{change(advice)}”"
    return (
        f"{what} was advised at {older.given}. That is older than {older.now}; the next round "
        "advises anew."
    )


def beside_status(advice: Recommendation) -> Recommendation:
    """Return advice that stands beside its group's status without the figures of an older one.

    Where nothing can be advised, since it was not known what the group does, the reason is the
    status sentence of that moment: the one beside it is newer.
    """
    why = advice.unknown_reason or ""
    is_of_status = advice.kind is AdviceKind.UNKNOWN and any(map(str.isdigit, why))
    return replace(advice, unknown_reason=_NO_STATUS) if is_of_status else advice


_NO_STATUS = "what the group did was not clear then; the next round looks again"


def badge_style(advice: Recommendation, older: Overtaken | None) -> BadgeStyle:
    """Return how urgent advice looks; what is no answer any more is not urgent."""
    return OLDER if older is not None and older.is_void else BADGE_STYLES[advice.severity]


_KIND = "kind_of_row"


def summary(rows: pl.DataFrame) -> str:
    """Return on how many subjects changes are advised, as the headline of the page of advice.

    Args:
        rows: Rows of ``recommendations``, the most urgent first.
    """
    every = rows.filter(IS_CHANGE)
    # As the list has it: further advice on a subject stands in its row.
    placed = with_place(every).with_columns(pl.col(UNDER).str.split(":").list.first().alias(_KIND))
    changes = placed.unique(UNDER, keep="first", maintain_order=True)
    urgent = changes.filter(pl.col("severity") == AdviceSeverity.ACT_NOW).height
    ahead = changes.filter(
        pl.col("limiting_factor") == "forecast", pl.col("severity") == AdviceSeverity.WATCH
    ).height
    saved = int(every["saving"].sum())
    unknown = rows.filter(pl.col("kind") == AdviceKind.UNKNOWN).height
    if changes.is_empty():
        title = "No change is advised"
    else:
        title = f"Advice on {_subjects(changes)}"
        parts = [
            *([f"{urgent} to act on now"] if urgent else []),
            *([f"{ahead} before more arrives"] if ahead else []),
            *([f"{count(saved, 'consumer')} to save"] if saved else []),
        ]
        title += f": {', '.join(parts)}" if parts else ""
    if unknown:
        title += f", {unknown} cannot be evaluated"
    return title


def _subjects(changes: pl.DataFrame) -> str:
    """Count what changes are about: ``9 groups and 2 topics``."""
    kinds = changes[_KIND].value_counts(sort=True)
    *others, last = [count(number, kind) for kind, number in kinds.iter_rows()]
    return f"{', '.join(others)} and {last}" if others else last


def card(
    advice: Recommendation,
    *,
    key: str,
    link: str | None = None,
    older: Overtaken | None = None,
    when: str = "",
    is_withdrawn: bool = False,
) -> None:
    """Draw a recommendation; its evidence and what may go wrong are folded.

    Args:
        advice: The recommendation.
        key: The card's name on the page.
        link: The page of its subject; None: this page is.
        older: What is newer than the advice, which is subdued then.
        when: When its figures were measured, where what stands beside the card is newer.
        is_withdrawn: Whether the newest round does not give it any more.
    """
    stands = older is None and not is_withdrawn
    say = st.markdown if stands else st.caption
    said = escape(headline(advice, older))
    title = f"**{said}**" if stands else f":gray[{said}]"
    with st.container(border=True, key=key):
        with st.container(
            horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
        ):
            st.markdown(title, width="content")
            with st.container(horizontal=True, width="content", vertical_alignment="center"):
                if link is not None:
                    routes.link(
                        link,
                        "open",
                        {link: advice.subject},
                        help_text=f"The page of {escape(advice.subject)}",
                    )
                components.badge(WITHDRAWN if is_withdrawn else badge_style(advice, older))
        if older is not None:
            st.markdown(escape(older.sentence))
        if not _is_title(advice):
            say(escape(thin(advice.reason)))
        if advice.consequence:
            say(f":gray[If nothing is done:] {escape(thin(advice.consequence))}")
        if advice.unknown_reason:
            why = escape(thin(f"{advice.unknown_reason[0].upper()}{advice.unknown_reason[1:]}"))
            st.markdown(f":violet[:material/help:] {why.rstrip('.')}.")
        about = f"{when}, {advice.confidence.value} confidence".removeprefix(", ")
        st.caption(f"{about[0].upper()}{about[1:]}.")
        _blockers(advice)
        _evidence(advice, key)
        _caveats(advice)
        _artefacts(advice, key, is_open=stands and advice.severity is AdviceSeverity.ACT_NOW)


def _is_title(advice: Recommendation) -> bool:
    """Return whether the reason of advice is what its card's title says."""
    return advice.reason.rstrip(".").lower() == change(advice)


def _evidence(advice: Recommendation, key: str) -> None:
    """Draw the figures that the advice was taken from, folded."""
    # The page says when data is lost as it is now; the figure is that of the round.
    shown = [
        one for one in advice.evidence if not one.name.endswith(NEED) and one.name != TIME_LEFT
    ]
    if not advice.evidence and advice.keda is None:
        return
    with st.expander("Evidence"):
        _needs(advice, key)
        if shown:
            figures = [f"{escape(one.name)} **{escape(written(one))}**" for one in shown]
            st.caption("&ensp;·&ensp;".join(figures))
        if advice.keda is not None:
            st.caption(
                f"KEDA would run **{advice.keda.replicas}** (lagThreshold "
                f"{exact(advice.keda.lag_threshold)}). {escape(thin(advice.keda.why))}",
                help="What KEDA's Kafka scaler and the horizontal pod autoscaler would settle on.",
            )


def needs(advice: Recommendation) -> tuple[pl.DataFrame, list[str]]:
    """Return how many consumers each need asks for, and the needs that no number meets.

    Args:
        advice: The recommendation; its limiting need is marked.
    """
    found = [
        (one.name.removesuffix(NEED), one.value)
        for one in advice.evidence
        if one.name.endswith(NEED)
    ]
    known = [(name, int(value)) for name, value in found if _is_number(value)]
    table = pl.DataFrame(
        {
            "limiting factor": [
                f"{name} (limits)" if name == advice.limiting_factor else name for name, _ in known
            ],
            "consumers": [number for _, number in known],
        },
        schema={"limiting factor": pl.String(), "consumers": pl.Int64()},
    )
    return table, [name for name, value in found if not _is_number(value)]


def _needs(advice: Recommendation, key: str) -> None:
    """Draw how many consumers each need asks for."""
    table, unmet = needs(advice)
    if not table.is_empty():
        most = max(advice.current or 0, *table["consumers"])
        st.dataframe(
            table,
            key=f"{key}-needs",
            hide_index=True,
            height="content",
            column_config={
                "limiting factor": st.column_config.TextColumn("factor", width="small"),
                "consumers": st.column_config.ProgressColumn(
                    "consumers that it asks for",
                    format="%d",
                    min_value=0,
                    max_value=max(1, most),
                    help="The smallest number of consumers that is enough.",
                ),
            },
        )
    if unmet:
        st.caption(f"No number of consumers is enough for: {', '.join(unmet)}.")


def _is_number(value: float | int | str | None) -> TypeGuard[int | float]:
    return isinstance(value, int | float)


def _blockers(advice: Recommendation) -> None:
    if advice.blockers:
        st.caption("  \n".join(map(_caveat, advice.blockers)))


def _caveats(advice: Recommendation) -> None:
    """Draw what else may go wrong, folded."""
    others = [one for one in advice.caveats if one.level is not CaveatLevel.BLOCKER]
    if others:
        with st.expander(f"What may go wrong ({len(others)})"):
            st.caption("  \n".join(map(_caveat, others)))


def _caveat(caveat: Caveat) -> str:
    colour, icon = _CAVEATS[caveat.level]
    word = f" **{caveat.level.value}**" if caveat.level is CaveatLevel.BLOCKER else ""
    return f":{colour}[{icon}{word}] {escape(thin(caveat.text))}"


def written(one: Evidence) -> str:
    """Write a figure in its unit."""
    value = one.value
    if value is None:
        return "unknown"
    if isinstance(value, str):
        return thin(value)
    if one.unit == "":
        return exact(value) if float(value).is_integer() else f"{value:.3g}"
    writer = _WRITERS.get(one.unit)
    return writer(value) if writer else f"{exact(value)} {one.unit}"


_WRITERS: dict[str, Callable[[float | None], str]] = {
    "messages": exact,
    "s": duration,
    "messages/s": rate,
    "ratio": share,
}


def _artefacts(advice: Recommendation, key: str, *, is_open: bool) -> None:
    """Draw the lines to run, folded unless they are to be run now."""
    if not advice.artefacts:
        return
    if advice.blockers and not st.checkbox(
        "I have read what may break; show the change", key=f"{key}-acknowledged"
    ):
        return
    with st.expander("The change, for a person or a pipeline to apply", expanded=is_open):
        for artefact, tab in zip(
            advice.artefacts, st.tabs([one.name for one in advice.artefacts]), strict=True
        ):
            with tab:
                components.code(artefact.text)
