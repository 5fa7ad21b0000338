"""The transactional pipeline when a call on a transaction never returns."""

from __future__ import annotations

import threading

import pytest

from demo.workload import pipeline
from demo.workload.catalogue import CATALOGUE
from demo.workload.pipeline import Pipeline


def test_a_session_that_stands_still_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[int] = []
    second, hung = threading.Event(), threading.Event()

    def session(self: Pipeline, number: int) -> None:
        began.append(number)
        if number == 1:
            hung.wait(30)
        else:
            second.set()
            self._ended.wait(30)

    monkeypatch.setattr(Pipeline, "_session", session)
    monkeypatch.setattr(pipeline, "_STILL_SECONDS", 0.5)
    member = Pipeline("localhost:1", CATALOGUE.group("ledger-writer"), 1, threading.Event())
    member.start()
    try:
        assert second.wait(10)
        assert began == [1, 2]
    finally:
        hung.set()
        member.end()
    assert member.join(10)
    assert member.quiet.is_set()
