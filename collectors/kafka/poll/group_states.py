"""Since when groups are in their states."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import polars as pl

State = tuple[str | None, datetime | None]
"""A group's state, and since when, as far as that was watched."""


class GroupStates:
    """The states of groups as polls have seen them."""

    def __init__(self, states: Mapping[str, State] | None = None) -> None:
        """Begin with what was known before a restart."""
        self._states = dict(states or {})

    def shift(self, seconds: float) -> None:
        """Move what was timed by this machine's clock, which was set."""
        step = timedelta(seconds=seconds)
        self._states = {
            group: (state, since and since + step) for group, (state, since) in self._states.items()
        }

    def record(self, groups: pl.DataFrame, now: datetime) -> Mapping[str, datetime | None]:
        """Take in the groups' states (group, state); return when each began.

        It is None where the state began before the group was watched, and while the state is
        unknown; the known date returns with the state.
        """
        states: dict[str, State] = {}
        since: dict[str, datetime | None] = {}
        for group, state in groups.select("group", "state").iter_rows():
            known = self._states.get(group)
            if state == "unknown":
                if known is not None:
                    states[group] = known
                since[group] = None
                continue
            if known is None:
                known = (state, None)
            states[group] = known if known[0] == state else (state, now)
            since[group] = states[group][1]
        self._states = states
        return since
