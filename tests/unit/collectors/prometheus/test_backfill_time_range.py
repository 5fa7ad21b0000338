from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collectors.prometheus.backfill import BackfillError, Window, duration, moment, windows
from collectors.prometheus.command import REFUSED, backfill_command
from config.settings import Settings

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        pytest.param("2026-11-20T10:00Z", NOW.replace(hour=10, minute=0), id="UTC"),
        pytest.param("2026-11-20T10:00+02:00", NOW.replace(hour=8, minute=0), id="offset"),
    ],
)
def test_moments(text: str, at: datetime) -> None:
    assert moment("--from", text, NOW) == at


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("2026-11-20T10:00", "has no time zone; write for example", id="naive"),
        pytest.param("2026-11-20", "has no time zone", id="a day"),
        pytest.param(
            "2026-11-20T12:31Z", "is still to come; it is 2026-11-20T12:30:00Z", id="future"
        ),
        pytest.param("yesterday", "is no time; write for example 2026-11-20T12:00Z", id="word"),
        pytest.param("", "is no time", id="empty"),
    ],
)
def test_moments_that_are_refused(text: str, said: str) -> None:
    with pytest.raises(BackfillError, match=f"^--to: .*{said}"):
        moment("--to", text, NOW)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("5m", 300), ("1h", 3600), ("24h", 86_400)]
)
def test_durations(text: str, seconds: int) -> None:
    assert duration("--step", text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["0", "0s", "-5s", "1.5s", "25h", "5d", "m", "", "\u0665s", "1e3"])
def test_durations_that_are_refused(text: str) -> None:
    with pytest.raises(BackfillError, match="is no step; write for example 60s"):
        duration("--step", text)


def test_windows_cover_the_grid_once() -> None:
    start, end = NOW - timedelta(hours=10, seconds=13), NOW - timedelta(seconds=1)
    parts = list(windows(start, end, MINUTE))
    moments = [part.first + number * MINUTE for part in parts for number in range(part.moments)]
    assert moments == [NOW - timedelta(hours=10) + number * MINUTE for number in range(600)]


def test_the_end_is_exclusive() -> None:
    (part,) = windows(NOW - 2 * MINUTE, NOW, MINUTE)
    assert (part.first, part.last) == (NOW - 2 * MINUTE, NOW - MINUTE)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        pytest.param(NOW, NOW, id="nothing"),
        pytest.param(NOW, NOW - MINUTE, id="backwards"),
        pytest.param(NOW + timedelta(seconds=1), NOW + MINUTE, id="between two moments"),
    ],
)
def test_no_moment_in_between_is_refused(start: datetime, end: datetime) -> None:
    with pytest.raises(BackfillError, match="--from must be before --to"):
        list(windows(start, end, MINUTE))


@pytest.mark.parametrize("moments", [2, 3, 240])
def test_halves_make_the_whole(moments: int) -> None:
    whole = Window(first=NOW, last=NOW + (moments - 1) * MINUTE, step=MINUTE)
    one, two = whole.halves()
    assert (one.first, two.last) == (whole.first, whole.last)
    assert two.first - one.last == MINUTE
    assert one.moments + two.moments == whole.moments == moments


def settings_of(folder: Path, *names: str) -> Settings:
    return Settings(
        clusters=[{"name": "production", "bootstrap_servers": "localhost:1"}],  # type: ignore[list-item]
        prometheus=[{"name": name, "url": "http://127.0.0.1:1"} for name in names],  # type: ignore[misc]
        lake={"uri": str(folder)},  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("arguments", "names", "said"),
    [
        pytest.param(
            ("2026-01-01T00:00", "2026-01-02T00:00Z", "60s", None),
            ["mon"],
            "no time zone",
            id="naive",
        ),
        pytest.param(
            ("2026-01-01T00:00Z", "2999-01-02T00:00Z", "60s", None), ["mon"], "to come", id="future"
        ),
        pytest.param(
            ("2026-01-01T00:00Z", "2026-01-02T00:00Z", "x", None), ["mon"], "no step", id="step"
        ),
        pytest.param(
            ("2026-01-01T00:00Z", "2026-01-02T00:00Z", "60s", "prod"),
            ["mon"],
            "there is no Prometheus prod; those configured: mon",
            id="source",
        ),
        pytest.param(
            ("2026-01-01T00:00Z", "2026-01-02T00:00Z", "60s", None),
            [],
            "no Prometheus is configured",
            id="none configured",
        ),
    ],
)
def test_the_command_refuses_with_one_line(
    arguments: tuple[str, str, str, str | None],
    names: list[str],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert backfill_command(settings_of(tmp_path, *names), *arguments) == REFUSED
    printed = capsys.readouterr().err.strip()
    assert said in printed
    assert "\n" not in printed
