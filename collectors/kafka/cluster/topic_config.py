"""Values of a topic's configuration, which are texts that anybody with the right has written."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.source.answer import LARGEST_LONG


def config_number(
    config: Mapping[str, tuple[str | None, bool]], key: str, largest: int = LARGEST_LONG
) -> int | None:
    """Return a setting that is a number; None where it is none, or larger than its column."""
    value, _ = config.get(key, (None, False))
    try:
        number = int(value or "")
    except ValueError:
        return None
    return number if abs(number) <= largest else None
