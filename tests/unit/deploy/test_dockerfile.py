"""How the test of the image reads a Dockerfile: what a build would refuse, it must refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.image.dockerfile import (
    DockerfileError,
    Step,
    assignments,
    copies,
    health_command,
    is_ignored,
    steps,
)

ROOT = Path(__file__).parents[3]


def test_steps_are_joined_and_comments_left_out() -> None:
    content = '# one\nFROM base\nRUN a \\\n    && b\n\n  # two\nCMD ["x"]\n'
    assert steps(content) == [
        Step(name="FROM", text="base"),
        Step(name="RUN", text="a  && b"),
        Step(name="CMD", text='["x"]'),
    ]


@pytest.mark.parametrize("line", ["ADD x y", "ENTRYPOINT x", "ENV A=$B", "run x"])
def test_an_instruction_that_is_not_known_is_refused(line: str) -> None:
    with pytest.raises(DockerfileError):
        steps(f"FROM base\n{line}\n")


def test_every_copy_of_the_dockerfile_finds_its_files() -> None:
    found = {
        target.relative_to("/opt/headroom")
        for step in steps((ROOT / "Dockerfile").read_text(encoding="utf-8"))
        if step.name == "COPY"
        for _, target in copies(step.text, ROOT, Path("/opt/headroom"))
    }
    assert Path("requirements.txt") in found
    assert Path("runtime/heartbeat.py") in found
    assert Path("alerting/notify/targets/registry.py") in found
    assert not any("__pycache__" in path.parts for path in found)


@pytest.mark.parametrize("text", ["tests tests", "README.md ./", "nowhere nowhere"])
def test_a_copy_of_what_the_build_does_not_see_fails(text: str) -> None:
    with pytest.raises(DockerfileError, match="not found"):
        list(copies(text, ROOT, Path("/")))


@pytest.mark.parametrize(
    ("patterns", "path", "ignored"),
    [
        (["*"], "a/b/c", True),
        (["*", "!a"], "a/b/c", False),
        (["*", "!a", "**/__pycache__"], "a/__pycache__/c.pyc", True),
        (["*", "!a", "**/__pycache__"], "__pycache__/c", True),
        (["a/*.py"], "a/b.py", True),
        (["a/*.py"], "a/b/c.py", False),
        (["# a", "", "!b", "b/"], "b/c", True),
        (["a.c"], "abc", False),
    ],
)
def test_the_last_pattern_that_fits_decides(patterns: list[str], path: str, ignored: bool) -> None:
    assert is_ignored(Path(path), patterns) is ignored


def test_variables_and_health_check() -> None:
    assert assignments("A=1 B='x y' C") == {"A": "1", "B": "x y", "C": ""}
    assert health_command('--retries=4 CMD ["a", "b"]') == ["a", "b"]
    with pytest.raises(DockerfileError):
        health_command("NONE")
