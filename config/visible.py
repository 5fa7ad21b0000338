"""Text of others for a terminal or a page: what is not seen does nothing either."""

from __future__ import annotations

import re

# Controls, which a terminal obeys, and what turns the direction of the text around.
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: object) -> str:
    """Return a text of one line with a sign in place of every control character."""
    return _UNSEEN.sub("\ufffd", str(text))
