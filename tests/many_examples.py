"""As many of Hypothesis's examples as a test asks for."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, seed, settings
from hypothesis import strategies as st


def with_examples(
    holds: Callable[[st.DataObject], None], count: int, part: int | None = None
) -> None:
    """Check that something holds for so many examples; each part has its own, the same ones ever.

    Args:
        holds: Draws what it looks at, and raises where it does not hold.
        count: How many examples.
        part: One of several that together are many; None: others each time, as is usual.
    """

    def checked(data: st.DataObject) -> None:
        holds(data)

    # What is drawn at random every time is not kept: each call is a test of its own.
    made = settings(max_examples=count, database=None)(given(st.data())(checked))
    (made if part is None else seed(part)(made))()
