"""What a what-if asks: its fields, which the address holds once somebody chose something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from app.style.format import escape
from app.ui import components
from scaling.facts.group_facts import GroupFacts

CONSUMERS, PARTITIONS, ARRIVAL, RATE = "if-consumers", "if-partitions", "if-arrival", "if-rate"
EVENT, ARRIVALS = "if-event", "if-arrivals"
_ALL = (CONSUMERS, PARTITIONS, ARRIVAL, RATE, EVENT, ARRIVALS)

MEASURED, HELD = "the last hours, as measured", "the present rates, held for six hours"
EXPECTED = "the next hours, as forecast"
NOTHING, CAMPAIGN, LOST = (
    "nothing else",
    "a campaign: twice as much for an hour",
    "one consumer is away for an hour",
)
_NAMES: Mapping[str, str] = {
    **{"measured": MEASURED, "held": HELD, "forecast": EXPECTED},
    **{"nothing": NOTHING, "campaign": CAMPAIGN, "away": LOST},
}
"""The words of choices, by what the address has for them."""

_MOST_CONSUMERS, _MOST_PARTITIONS, _MOST_TIMES, _MOST_PER_SECOND = 2000, 100_000, 100.0, 1e9
_SHOWN = 20
"""Letters of a value from the address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """What is asked.

    Attributes:
        partitions: As many as the topic should have; None: as many as there are.
        per_second: What one consumer processes; None: nobody knows.
        event: ``NOTHING``, ``CAMPAIGN`` or ``LOST``.
    """

    consumers: int
    partitions: int | None
    arrival_factor: float
    per_second: float | None
    event: str


def number(text: str, least: float, most: float, *, is_whole: bool) -> float | None:
    """Return a number of the address; None where it is none, or not from the least to the most."""
    try:
        value = int(text) if is_whole else float(text)
    except ValueError:
        return None
    return value if least <= value <= most else None


def chosen(name: str, offered: Sequence[str]) -> str | None:
    """Return the words of a choice from the address; None where they are not offered."""
    words = _NAMES.get(name)
    return words if words in offered else None


def not_understood(address: Mapping[str, str], wrong: Sequence[str]) -> str:
    """Say which values of the address are left out; nothing where none is.

    Args:
        address: The parameters of the address.
        wrong: The names of those that cannot be.
    """
    said = [f"{name}={address[name][:_SHOWN]}" for name in wrong]
    return f"The address asks for what cannot be, which is left out: {', '.join(said)}" * bool(said)


def forget() -> None:
    """Take the what-if out of the address: it was about another group."""
    for name in _ALL:
        st.query_params.pop(name, None)


def ask(
    facts: GroupFacts, proposed: int | None, known: float | None, *, is_least: bool
) -> Questions:
    """Draw the fields and return what they ask.

    Args:
        facts: What is known of the group.
        proposed: How many consumers are advised; None: nothing is.
        known: What one consumer processes as far as known, messages a second.
        is_least: Whether that is a lower bound.
    """
    now, can_grow = max(1, sum(facts.subscribed.values())), len(facts.subscribed) == 1
    wrong: list[str] = []
    consumers = min(proposed or facts.members or 1, _MOST_CONSUMERS)
    _fill(CONSUMERS, consumers, 1, _MOST_CONSUMERS, wrong)
    _fill(PARTITIONS, now, now, _MOST_PARTITIONS if can_grow else now, wrong)
    _fill(ARRIVAL, 1.0, 0.0, _MOST_TIMES, wrong)
    _fill(RATE, known, 0.0, _MOST_PER_SECOND, wrong)
    # The last label is the longest, and its box begins as high as the others.
    columns = st.columns([4, 4, 4, 5], gap="small", vertical_alignment="bottom")
    columns[0].number_input(
        "Consumers", 1, _MOST_CONSUMERS, key=CONSUMERS, on_change=_put, args=(CONSUMERS,)
    )
    columns[1].number_input(
        "Partitions",
        now,
        _MOST_PARTITIONS,
        step=now,
        key=PARTITIONS,
        disabled=not can_grow,
        on_change=_put,
        args=(PARTITIONS,),
        help="Of the only topic that the group reads; they only ever grow.",
    )
    columns[2].number_input(
        "Arrival ×",  # noqa: RUF001 (a multiplication sign, read by people)
        0.0,
        _MOST_TIMES,
        step=0.5,
        key=ARRIVAL,
        on_change=_put,
        args=(ARRIVAL,),
    )
    columns[3].number_input(
        f"Messages/s each{', at least' if is_least else ''}",
        0.0,
        _MOST_PER_SECOND,
        value=None,
        placeholder="unknown",
        key=RATE,
        on_change=_put,
        args=(RATE,),
        help="What one consumer can process when it never waits.",
    )
    event = _choose("And", EVENT, (NOTHING, CAMPAIGN, LOST), NOTHING, wrong)
    if said := not_understood(st.query_params.to_dict(), wrong):
        st.caption(escape(f"{said}."))
    state = st.session_state
    return Questions(
        consumers=state[CONSUMERS],
        partitions=state[PARTITIONS] if state[PARTITIONS] != now else None,
        arrival_factor=state[ARRIVAL],
        per_second=state[RATE],
        event=event,
    )


def choose_arrivals(offered: Sequence[str], default: str) -> str:
    """Ask what arrives: one of what is offered."""
    found = _choose("Arrivals", ARRIVALS, offered, default, [])
    # Of what is not offered now lines below say why.
    if st.query_params.get(ARRIVALS, "held") not in _NAMES:
        st.caption(escape(f"{not_understood(st.query_params.to_dict(), [ARRIVALS])}."))
    return found


def _choose(label: str, key: str, offered: Sequence[str], default: str, wrong: list[str]) -> str:
    asked = st.query_params.get(key)
    words = None if asked is None else chosen(asked, offered)
    if asked is not None and words is None:
        wrong.append(key)
    st.session_state[key] = words or default
    found = st.segmented_control(
        label,
        list(offered),
        required=True,
        key=key,
        on_change=_put_name,
        args=(key,),
        label_visibility="collapsed",
    )
    return found or default


def _fill(key: str, default: float | None, least: float, most: float, wrong: list[str]) -> None:
    """Fill a field with what the address has, or with what is known."""
    value, text = default, st.query_params.get(key)
    if text is not None:
        found = number(text, least, most, is_whole=key in (CONSUMERS, PARTITIONS))
        if found is None:
            wrong.append(key)
        else:
            value = found
    st.session_state[key] = value


def _put(key: str) -> None:
    components.put_into_address(key)


def _put_name(key: str) -> None:
    words = st.session_state[key]
    st.query_params[key] = next(name for name, said in _NAMES.items() if said == words)
