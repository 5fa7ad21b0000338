"""What the advice on one group was taken from, read anew where somebody looks."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import streamlit as st

from app.data import present
from app.data.context import View
from app.ui.advice.current_advice import CurrentAdvice
from scaling.facts.group_facts import GroupFacts
from scaling.facts.lake_reader import read_group


class Facts(NamedTuple):
    """What the advice on one group is taken from.

    Attributes:
        facts: The group's figures; None where the newest poll did not know it.
        at: When they were read.
    """

    facts: GroupFacts | None
    at: datetime


def facts_of_group(view: View, group: str, given: CurrentAdvice) -> Facts:
    """Return what the advice on one group is taken from, read once a round of advice.

    Ten minutes of polls are behind it: where ten thousand groups are polled every few seconds,
    reading them at each poll takes longer than all else on a page.
    """
    advised_at = given.changed_at if group in given.changed else given.as_of
    of = present.stamp(view) if advised_at is None else advised_at.timestamp()
    found = _facts(view.cache_key, view.cluster, group, of, view)
    if found.facts is None:  # the next poll may know it
        _facts.clear(view.cache_key, view.cluster, group, of, view)
    return found


# Facts are never altered: all sessions share them, without a copy.
@st.cache_resource(ttl=900, max_entries=64, show_spinner=False)
def _facts(uri: str, cluster: str, group: str, of: float, _view: View) -> Facts:
    at = _view.now
    return Facts(read_group(_view.lake, cluster, group, at, _view.settings.scaling), at)
