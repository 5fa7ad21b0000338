from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
from deltalake import write_deltalake

from config.settings import LakeSettings
from lake.schemas.tables import RECOMMENDATIONS
from lake.storage.append import conform
from lake.storage.store import Lake
from scaling.advice.advice_table import recommendation_frame, recommendation_rows
from scaling.advice.model import AdviceKind, AdviceSeverity, Confidence, Recommendation
from scaling.advice.stored_advice import standing

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
ROUND = timedelta(minutes=10)


def _advice(
    group: str,
    kind: AdviceKind = AdviceKind.ADD_CONSUMERS,
    current: int | None = 2,
    proposed: int | None = 6,
) -> Recommendation:
    return Recommendation(
        kind=kind,
        cluster="demo",
        subject=group,
        severity=AdviceSeverity.WATCH,
        confidence=Confidence.HIGH,
        reason="More arrives than is consumed.",
        quantity="consumers",
        current=current,
        proposed=proposed,
    )


def _lake(folder: Path, *rounds: tuple[datetime, list[Recommendation]]) -> Lake:
    lake = Lake(LakeSettings(uri=str(folder)))
    rows = [row for at, advice in rounds for row in recommendation_rows(advice, at=at)]
    frame = conform(RECOMMENDATIONS, recommendation_frame(rows))
    write_deltalake(
        lake.uri(RECOMMENDATIONS), frame.to_arrow(), mode="append", partition_by=["date"]
    )
    return lake


def _names(frame: pl.DataFrame) -> list[str]:
    return frame["subject"].to_list()


def test_a_change_stays_for_one_round_after_it_was_given(tmp_path: Path) -> None:
    keep = _advice("flips", AdviceKind.KEEP, 2, 2)
    lake = _lake(tmp_path, (NOW - ROUND, [_advice("flips")]), (NOW, [keep, _advice("stands")]))
    found = standing(lake, "demo", NOW)
    assert sorted(_names(found.rows)) == ["flips", "stands"]
    assert _names(found.withdrawn) == ["flips"]
    assert found.withdrawn["kind"].to_list() == [AdviceKind.ADD_CONSUMERS.value]


def test_what_was_followed_renumbered_or_given_long_ago_is_over(tmp_path: Path) -> None:
    before = [_advice("followed"), _advice("renumbered"), _advice("kept", AdviceKind.KEEP, 2, 2)]
    now = [_advice("followed", AdviceKind.KEEP, 6, 6), _advice("renumbered", proposed=8)]
    lake = _lake(tmp_path, (NOW - 3 * ROUND, [_advice("old")]), (NOW - ROUND, before), (NOW, now))
    found = standing(lake, "demo", NOW)
    assert found.withdrawn.is_empty()
    assert sorted(_names(found.rows)) == ["followed", "renumbered"]


def test_the_first_round_withdraws_nothing(tmp_path: Path) -> None:
    found = standing(_lake(tmp_path, (NOW, [_advice("one")])), "demo", NOW)
    assert found.withdrawn.is_empty() and _names(found.rows) == ["one"]
