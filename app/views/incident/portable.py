"""Text of others in Markdown of any make, which is read as plain text and in chats, too."""

from __future__ import annotations

import re

from app.style.format import shortened
from config.visible import visible

_APART = "<!-- -->"
"""Keeps the parts of an address from being read as one; each make of Markdown knows comments."""
_ADDRESS = re.compile(r"(?<=www)(?=\.)|(?<=:)(?=//)|(?=@)", re.IGNORECASE)
_MARKUP = re.compile(
    r"[\\`*|<>\[~]"  # without a bracket that opens there is no link
    r"|&(?=#?\w+;)"  # a character by its name
    r"|(?<!\w)_++|_++(?!\w)|(?<!\w)\$|\$(?!\w)"  # inside a word no emphasis, and no formula
)
_LEADING = re.compile(
    r"^(?:(?=[-+](?:\s|$)|#{1,6}(?:\s|$)|(?:[-=]\s*)+$)|(\d{1,9})(?=[.)](?:\s|$)))"
)
"""What makes a heading, a rule or a list of a line that begins with it."""


def portable(text: str) -> str:
    """Escape what Markdown would interpret where it stands, and nothing else.

    A text of more than 1,000 characters is cut in the middle; the first and the last 500 stay.

    Args:
        text: The text of others. It becomes one line, which fits into a cell of a table.
    """
    line = visible(" ".join(part.strip() for part in shortened(text).strip().splitlines()))
    escaped = _MARKUP.sub(lambda found: "".join(f"\\{sign}" for sign in found[0]), line)
    return _APART.join(_ADDRESS.split(_LEADING.sub(r"\1\\", escaped)))
