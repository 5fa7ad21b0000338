from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from collectors.exporter.text import Metric, Samples, sample_lines

LAG = Metric(name="headroom_lag", help="What is waiting.", labels=("group", "partition"))


def lines(values: pl.Series, **constant: str) -> list[str]:
    rows = pl.DataFrame({"group": ["g"] * len(values), "partition": range(len(values))})
    text = b"".join(
        sample_lines(Samples(metric=LAG, rows=rows.with_columns(value=values)), constant)
    )
    return text.decode().splitlines()


def test_labels_stand_in_order_and_a_sources_own_first() -> None:
    assert lines(pl.Series([3]), cluster="shop") == [
        'headroom_lag{cluster="shop",group="g",partition="0"} 3'
    ]


def test_a_metric_without_labels() -> None:
    metric = Metric(name="headroom_topics", help="Topics.")
    rows = pl.DataFrame({"value": [7]})
    assert list(sample_lines(Samples(metric=metric, rows=rows), {})) == [b"headroom_topics 7\n"]
    assert list(sample_lines(Samples(metric=metric, rows=rows), {"cluster": "a"})) == [
        b'headroom_topics{cluster="a"} 7\n'
    ]


@pytest.mark.parametrize(
    ("values", "written"),
    [
        pytest.param(pl.Series([0, -1]), ["0", "-1"], id="whole numbers"),
        pytest.param(pl.Series([2**53 + 1]), ["9007199254740993"], id="beyond a double"),
        pytest.param(pl.Series([0.1, 1e22, 1e-7]), ["0.1", "1e+22", "1e-7"], id="fractions"),
        pytest.param(
            pl.Series([float("inf"), float("-inf"), float("nan")]),
            ["+Inf", "-Inf", "NaN"],
            id="no numbers",
        ),
        pytest.param(pl.Series([True, False]), ["1", "0"], id="truth"),
        pytest.param(
            pl.Series([datetime(2026, 1, 2, tzinfo=UTC)], dtype=pl.Datetime("us", "UTC")),
            ["1767312000.0"],
            id="a moment",
        ),
    ],
)
def test_values(values: pl.Series, written: list[str]) -> None:
    assert [line.split(" ")[1] for line in lines(values)] == written


def test_an_unknown_value_has_no_sample() -> None:
    assert [line[-4:] for line in lines(pl.Series([None, 0, None]))] == ['"} 0']
    assert lines(pl.Series([None, None], dtype=pl.Int64)) == []


def test_an_unknown_label_is_empty() -> None:
    rows = pl.DataFrame({"group": [None], "partition": [0], "value": [1]})
    (line,) = sample_lines(Samples(metric=LAG, rows=rows.cast({"group": pl.String})), {})
    assert line == b'headroom_lag{group="",partition="0"} 1\n'


def test_more_rows_than_are_written_at_once() -> None:
    count = 120_001
    rows = pl.DataFrame({"group": ["g"] * count, "partition": range(count), "value": range(count)})
    text = b"".join(sample_lines(Samples(metric=LAG, rows=rows), {})).decode().splitlines()
    assert len(text) == count
    assert text[-1] == 'headroom_lag{group="g",partition="120000"} 120000'


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=5
    ),
    st.text('ab"\\\nn{}=, é', max_size=8),
)
def test_labels_come_back_as_they_were(groups: list[str], cluster: str) -> None:
    rows = pl.DataFrame(
        {"group": groups, "partition": range(len(groups)), "value": range(len(groups))}
    )
    text = LAG.head + b"".join(sample_lines(Samples(metric=LAG, rows=rows), {"cluster": cluster}))
    (family,) = text_string_to_metric_families(text.decode())
    found = [(s.labels["cluster"], s.labels["group"], s.value) for s in family.samples]
    assert found == [(cluster, group, number) for number, group in enumerate(groups)]


def test_the_head_is_one_line_each() -> None:
    metric = Metric(name="headroom_x_total", help="a\\b\nc", type="counter")
    assert metric.head == b"# HELP headroom_x_total a\\\\b\\nc\n# TYPE headroom_x_total counter\n"
