from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerting.current.skew import skew


def of(*rates: float | None) -> dict[int, float | None]:
    return dict(enumerate(rates))


@pytest.mark.parametrize(
    ("rates", "hot"),
    [
        pytest.param(of(10, 10, 10, 10), (), id="even"),
        pytest.param(of(12, 9, 10, 11, 8), (), id="nearly even"),
        pytest.param(of(10, 10, 80), (2,), id="three partitions"),
        pytest.param(of(60, 10, 11, 9), (0,), id="four partitions"),
        pytest.param(of(500, *[20] * 11), (0,), id="one dominant key"),
        pytest.param(of(20, 100, 90, *[10] * 12), (1, 2), id="two hot ones, busiest first"),
        pytest.param(of(15, 10, 10, 10, 10), (), id="busy but not twice the others"),
        pytest.param(of(100, 1), (), id="two partitions say nothing"),
        pytest.param(of(100), (), id="one partition"),
    ],
)
def test_hot_partitions(rates: dict[int, float | None], hot: tuple[int, ...]) -> None:
    found = skew(rates, span_seconds=600)

    assert found.hot == hot
    assert found.unknown_reason is None


def test_shares() -> None:
    found = skew(of(60, 20, 10, 10), span_seconds=600)

    assert (found.busiest, found.busiest_ratio, found.even_ratio) == (0, 0.6, 0.25)


@pytest.mark.parametrize(
    ("rates", "span", "why"),
    [
        pytest.param({}, 600, "no partition", id="nothing known"),
        pytest.param(of(1, None, 2), 600, "1 of 3 partitions is unknown", id="one unknown"),
        pytest.param(of(0, 0, 0), 600, "0 messages are too few", id="no traffic"),
        pytest.param(of(0.1, 0.01, 0.01), 600, "72 messages are too few", id="little traffic"),
    ],
)
def test_too_little_to_tell(rates: dict[int, float | None], span: float, why: str) -> None:
    found = skew(rates, span_seconds=span)

    assert why in (found.unknown_reason or "")
    assert found.busiest is None and found.busiest_ratio is None and found.hot == ()


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50))
def test_busiest_gets_at_least_the_even_share(rates: list[float]) -> None:
    found = skew(of(*rates), span_seconds=600)

    if found.unknown_reason is None:
        assert found.busiest_ratio is not None and found.even_ratio is not None
        assert found.even_ratio <= found.busiest_ratio * (1 + 1e-9)
        assert found.busiest_ratio <= 1 + 1e-9
        assert found.hot == () or found.hot[0] == found.busiest
