"""Advice: what it is to hold."""

from __future__ import annotations

import re

from pydantic import Field

from config.parts import Pattern, Section


class ObjectiveSettings(Section):
    """The objective of some groups."""

    groups: Pattern = Field(description="a regular expression that matches the whole name")
    time_lag_seconds: float = Field(gt=0, le=30 * 86400)


class ScalingSettings(Section):
    """What advice is to hold."""

    time_lag_seconds: float = Field(
        default=300.0,
        gt=0,
        le=30 * 86400,
        description="time lag that a group is not to exceed, where no objective matches",
    )
    objectives: list[ObjectiveSettings] = Field(
        default=[], description="the first whose groups match counts"
    )

    def objective_seconds(self, group: str) -> float:
        """Return the time lag that a group is not to exceed."""
        for one in self.objectives:
            if re.fullmatch(one.groups, group):
                return one.time_lag_seconds
        return self.time_lag_seconds
