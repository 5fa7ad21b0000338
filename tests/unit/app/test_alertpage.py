"""What the page of rules draws of a rule that is tried."""

from __future__ import annotations

from alerting.tryout import Tried
from app.alertpage import value_rows


def test_what_never_had_a_value_is_not_drawn() -> None:
    points = ((0.0, "late", 5.0), (15.0, "late", None), (0.0, "fine", None), (15.0, "fine", None))

    found = value_rows(Tried((), points, 0, 2))

    # A gap within a line stays.
    assert found["thing"].to_list() == ["late", "late"]
    assert found["value"].to_list() == [5.0, None]
