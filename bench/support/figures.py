"""A benchmark's figures: as a table for people, as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured value."""

    name: str
    value: float
    unit: str
    most: float | None = None  # the goal, where it must not be exceeded; None without one
    least: float | None = None  # the goal, where it must be reached; None without one

    @property
    def reached(self) -> bool | None:
        """Whether the goal is reached; None without one."""
        if self.most is None and self.least is None:
            return None
        return (self.most is None or self.value <= self.most) and (
            self.least is None or self.value >= self.least
        )


def as_json(figures: Sequence[Figure]) -> str:
    """Return the figures as a JSON list."""
    return json.dumps([{**asdict(figure), "reached": figure.reached} for figure in figures])


def print_figures(console: Console, figures: Sequence[Figure]) -> None:
    """Print the figures for people."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("figure")
    for column in ("value", "unit", "goal", ""):
        table.add_column(column, justify="right" if column in ("value", "goal") else "left")
    for figure in figures:
        goal = ""
        if figure.most is not None:
            goal = f"≤ {figure.most:,g}"
        elif figure.least is not None:
            goal = f"≥ {figure.least:,g}"
        mark = {True: "[green]reached[/]", False: "[red]missed[/]", None: ""}[figure.reached]
        table.add_row(figure.name, _number(figure.value), figure.unit, goal, mark)
    console.print(table)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
