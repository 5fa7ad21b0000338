"""What the command line says of wrong words; it ends before Spark starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_metrics.__main__ import app


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        pytest.param(
            ("--from", "soon", "--to", "2026-01-06"), 1, "'soon' is no date", id="no-date"
        ),
        pytest.param(
            ("--from", "2026-01-07", "--to", "2026-01-06"),
            1,
            "--from must be before --to",
            id="order",
        ),
    ],
)
def test_backfill_says_what_is_wrong(
    tmp_path: Path, words: tuple[str, ...], code: int, line: str
) -> None:
    config = tmp_path / "headroom.yaml"
    config.write_text(
        "clusters: [{name: demo, bootstrap_servers: 'localhost:9092'}]\n"
        f"lake: {{uri: {tmp_path / 'lake'}}}\n"
    )
    done = CliRunner().invoke(app, ["backfill", *words, "--config", str(config)])
    assert done.exit_code == code
    assert line in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
