"""What was left out so that everything else goes on: rules, silences, rows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from alerting.rules.matchers import Silence

SHOWN_SECONDS = 86400.0
"""how long an unreadable row of the alert store is reported."""

_MOST_LINES = 20


def silence_problems(silences: Iterable[Silence], now: float) -> list[str]:
    """Return which silences that have not ended cannot be read, a line each."""
    return [
        f"silence {one.id} of {one.author} silences nothing, as it cannot be read "
        f"({one.problem}): end it and make it anew"
        for one in silences
        if one.problem and one.ends_at > now
    ]


def all_problems(
    service: Mapping[str, object] | None,
    rules_file: Path | None,
    rules: Sequence[str],
    others: Iterable[str],
) -> list[str]:
    """Return what the service left out and what was found by reading the same, a line each."""
    noted = (service or {}).get("problems")
    lines = [str(one) for one in noted] if isinstance(noted, list) else []
    # The service says what became of its rules; what it has not read yet is reported here.
    if not any(str(rules_file) in line for line in lines):
        lines += [f"left out: {line}" for line in rules]
    return limited(dict.fromkeys([*lines, *others]))


def limited(lines: Iterable[str]) -> list[str]:
    """Return the first lines, and how many more there are."""
    found = list(lines)
    more = len(found) - _MOST_LINES
    return [*found[:_MOST_LINES], f"and {more} more"] if more > 0 else found
