"""When a page is drawn again."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from app.data import context, present
from app.data.context import View
from app.ui import refresh

LONGEST = refresh.LONGEST_SECONDS


@pytest.mark.parametrize(
    ("ago", "seconds", "has_changed", "expected"),
    [
        (5, 5, True, True),
        (5, 5, False, False),
        (1, 5, True, False),
        (LONGEST, 5, False, True),
        (LONGEST, 60, False, False),
        (60, 60, False, True),
    ],
)
def test_a_page_is_drawn_again_when_it_was_evaluated_or_is_old(
    ago: float, seconds: float, has_changed: bool, expected: bool
) -> None:
    assert refresh.is_due(ago, seconds, has_changed=has_changed) is expected


def test_the_timer_draws_the_page_only_when_it_is_due(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, evaluated, runs = [100.0], [1.0], []
    looks: list[Callable[[], None]] = []

    def fragment(look: Callable[..., None], *, run_every: float) -> Callable[..., None]:
        assert run_every == 5
        looks.append(lambda: look(run_every))
        return look

    drawn = SimpleNamespace(
        session_state={},
        fragment=fragment,
        empty=lambda: None,
        rerun=lambda: runs.append(clock[0]),
    )
    replaced: dict[tuple[Any, str], Any] = {
        (refresh, "st"): drawn,
        (refresh.time, "monotonic"): lambda: clock[0],
        (present, "stamp"): lambda _: evaluated[0],
        (context, "current"): lambda: view,
    }
    for (place, name), value in replaced.items():
        monkeypatch.setattr(place, name, value)

    refresh.keep_fresh(view, 5)
    (look,) = looks
    for clock[0] in (105.0, 110.0):
        look()
    assert runs == [], "nothing has changed"
    evaluated[0] = 2.0
    look()
    assert runs == [110.0]
    refresh.keep_fresh(view, 5)
    for clock[0] in (115.0, 120.0, 125.0):
        look()
    assert runs == [110.0, 125.0], "what the clock changes"
    refresh.keep_fresh(view, 5)
    refresh.soon()
    clock[0] = 130.0
    look()
    assert runs == [110.0, 125.0, 130.0], "the page waits for something"
