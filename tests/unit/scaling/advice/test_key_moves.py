from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.advice.key_moves import moved_share, targets


@pytest.mark.parametrize(
    ("present", "proposed", "share"),
    [(12, 24, 0.5), (12, 36, 2 / 3), (12, 12, 0.0), (3, 4, 0.75), (1, 2, 0.5), (6, 9, 2 / 3)],
)
def test_share_of_keys_that_move(present: int, proposed: int, share: float) -> None:
    assert moved_share(present, proposed) == pytest.approx(share)


@given(present=st.integers(1, 24), proposed=st.integers(1, 24))
def test_share_is_what_counting_hashes_gives(present: int, proposed: int) -> None:
    hashes = range(present * proposed)
    moved = sum(h % present != h % proposed for h in hashes)
    assert moved_share(present, proposed) == pytest.approx(moved / len(hashes))


@given(h=st.integers(0, 2**31 - 1), present=st.integers(1, 500), times=st.integers(1, 12))
def test_a_key_moves_only_from_p_to_p_plus_jp(h: int, present: int, times: int) -> None:
    assert h % (times * present) in targets(h % present, present, times)


def test_what_is_no_partition_is_refused() -> None:
    with pytest.raises(ValueError, match="no partition 3"):
        targets(3, 3, 2)
    with pytest.raises(ValueError):
        moved_share(0, 3)
