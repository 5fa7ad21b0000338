from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulation.simulator import Simulation
from simulation.traces import TraceError, read_trace, read_traces, trace_workload

HEAD = "timestamp,value\n"


def _file(folder: Path, text: str, name: str = "series.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def _rows(count: int, minutes: int = 5) -> str:
    start = np.datetime64("2026-01-05T00:00:00")
    step = np.timedelta64(minutes, "m")
    return "".join(
        f"{str(start + step * n).replace('T', ' ')},{100 + 50 * (n % 12)}\n" for n in range(count)
    )


def test_values_become_rates(tmp_path: Path) -> None:
    trace = read_trace(_file(tmp_path, HEAD + _rows(24)))
    assert (trace.name, trace.interval_seconds, trace.skipped) == ("series", 300.0, 0)
    assert trace.per_second[1] == pytest.approx(150 / 300)
    assert trace.times[0] == 1_767_571_200


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("value,timestamp\n3,10\n4,20\n5,30\n", id="columns turned, Unix time"),
        pytest.param(" Timestamp ,other, VALUE\n30,x,5\n10,x,3\n20,x,4\n", id="unsorted"),
        pytest.param(
            "timestamp,value\n1970-01-01T00:00:10Z,3\n1970-01-01T02:00:20+02:00,4\n"
            "1970-01-01 00:00:30,5\n",
            id="zones",
        ),
        pytest.param(
            "timestamp,value\n10,3\nnonsense,1\n20,4\n25,-1\n26,nan\n27\n28,\n30,5\n",
            id="rows that are none",
        ),
        pytest.param("timestamp,value\n10,1\n10,2\n20,4\n30,5\n", id="one time twice"),
    ],
)
def test_any_order_and_form_is_read(tmp_path: Path, text: str) -> None:
    trace = read_trace(_file(tmp_path, text))
    assert trace.times.tolist() == [10, 20, 30]
    assert (trace.per_second * 10).tolist() == [3, 4, 5]


def test_a_gap_is_bridged_and_its_neighbours_are_not_thinned(tmp_path: Path) -> None:
    trace = read_trace(_file(tmp_path, HEAD + "0,10\n10,10\n20,10\n500,30\n510,30\n"))
    assert trace.per_second.tolist() == [1, 1, 1, 3, 3]
    between = trace.rate(np.array([25.0, 265.0, 505.0]))
    assert between == pytest.approx([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "no columns timestamp and value", id="empty"),
        pytest.param("a,b\n1,2\n", "no columns timestamp and value", id="other columns"),
        pytest.param(HEAD + "1,2\n", "1 usable rows", id="one row"),
        pytest.param(HEAD + "x,y\n" * 9, "0 usable rows", id="no numbers"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(TraceError, match=message) as caught:
        read_trace(_file(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_binary_rubbish_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rubbish.csv"
    path.write_bytes(bytes(range(256)) * 9)
    with pytest.raises(TraceError, match=r"rubbish\.csv"):
        read_trace(path)


def test_one_bad_file_does_not_spoil_a_folder(tmp_path: Path) -> None:
    _file(tmp_path, "a,b\n", "bad.csv")
    _file(tmp_path, HEAD + _rows(10), "good.csv")
    traces, problems = read_traces(tmp_path)
    assert [trace.name for trace in traces] == ["good"]
    assert len(problems) == 1
    assert "bad.csv" in problems[0]


@pytest.mark.parametrize("name", ["missing", "."])
def test_a_folder_without_a_series_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(TraceError):
        read_traces(tmp_path / name)


def test_the_workload_is_scaled_and_the_same_for_a_seed(tmp_path: Path) -> None:
    trace = read_trace(_file(tmp_path, HEAD + _rows(12 * 24 * 6)))
    work = trace_workload(trace, 4, days=1.0)
    simulation = Simulation(work, 4)
    simulation.run_until(work.starts_at + work.duration_seconds)
    capacity = 12 * work.consumers.rate_per_second
    assert simulation.truth().arrived / 86400 == pytest.approx(0.6 * capacity, rel=0.02)
    again = trace_workload(trace, 4, days=1.0)
    assert (again.starts_at, again.consumers) == (work.starts_at, work.consumers)
    assert trace.times[0] <= work.starts_at <= trace.ends_at - 86400


@pytest.mark.parametrize(
    "rows", [pytest.param("0,0\n10,0\n20,0\n", id="zeros"), pytest.param("0,7\n9,7\n", id="two")]
)
def test_a_tiny_or_silent_series_runs(tmp_path: Path, rows: str) -> None:
    work = trace_workload(read_trace(_file(tmp_path, HEAD + rows)), 1)
    simulation = Simulation(work, 1)
    simulation.run_until(work.starts_at + work.duration_seconds)
    assert np.isfinite(simulation.truth().arrived)
