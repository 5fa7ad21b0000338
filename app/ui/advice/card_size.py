"""How high cards of advice are, for what is laid out beside them: estimates, as text wraps."""

from __future__ import annotations

from collections.abc import Sequence

from app.ui.advice.overtaken import Overtaken
from scaling.advice.model import AdviceSeverity, Recommendation

LINE_PIXELS = 26
"""A card that is folded to a line, or a line of one."""

_LINE_LETTERS, _CODE_LETTERS = 64, 44
"""Of a line of words and of one to run, where a card has two fifths of the page."""
_GAP = 14
_FRAME = 90
"""The title, the line on when it was measured, and the border."""
_FOLDED = 48
_TABS = 65
"""What stands around the lines to run."""


def pixels(advice: Recommendation, older: Overtaken | None = None) -> int:
    """Return about how high the card of a recommendation is.

    Args:
        advice: The recommendation.
        older: What is newer than the advice.
    """
    said = [advice.reason, advice.consequence, advice.unknown_reason]
    said += [older.sentence] if older is not None else []
    paragraphs = sum(_lines(one, _LINE_LETTERS) * LINE_PIXELS + _GAP for one in said if one)
    blockers = advice.blockers
    folded = (bool(advice.evidence or advice.keda), len(advice.caveats) > len(blockers))
    stops = sum(_lines(one.text, _LINE_LETTERS) * LINE_PIXELS for one in blockers)
    return _FRAME + paragraphs + stops + _FOLDED * sum(folded) + _artefacts(advice, older)


def _artefacts(advice: Recommendation, older: Overtaken | None) -> int:
    if not advice.artefacts:
        return 0
    if older is not None or advice.blockers or advice.severity is not AdviceSeverity.ACT_NOW:
        return _FOLDED
    return _FOLDED + _TABS + _code_lines(advice.artefacts[0].text.splitlines()) * LINE_PIXELS


def _code_lines(lines: Sequence[str]) -> int:
    return sum(_lines(line, _CODE_LETTERS) for line in lines)


def _lines(text: str, letters: int) -> int:
    return max(1, -(-len(text) // letters))
