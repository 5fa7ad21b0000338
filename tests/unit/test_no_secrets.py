"""No file of the project holds a secret, and every line of the threat model has its test."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECRETS = {
    "private key": r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----\s+[A-Za-z0-9+/=]{40}",
    "AWS key": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "GitHub token": r"\b(?:ghp|gho|ghs|ghu|github_pat)_[A-Za-z0-9_]{30,}",
    "Slack token": r"\bxox[abprs]-[0-9]{8,}-[A-Za-z0-9-]{10,}",
    "Slack webhook": r"hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/[A-Za-z0-9]{20,}",
    "signed token": r"\beyJ[A-Za-z0-9_-]{20,}\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}",
    "Google key": r"\bAIza[0-9A-Za-z_-]{35}\b",
}
PATTERN = re.compile("|".join(f"({pattern})" for pattern in SECRETS.values()))


def files() -> list[Path]:
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listing.stdout.splitlines() if (ROOT / name).is_file()]


def test_no_file_holds_a_secret() -> None:
    found = []
    for file in files():
        text = file.read_bytes().decode("utf-8", errors="replace")
        found += [f"{file.relative_to(ROOT)}: {match[0][:12]}…" for match in PATTERN.finditer(text)]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        # In pieces, or this file would be found.
        "AKIA" + "ABCDEFGHIJKLMNOP",
        "ghp" + "_" + "a" * 36,
        "-----BEGIN RSA " + "PRIVATE KEY-----\n" + "A" * 64,
        "eyJ" + "a" * 30 + ".eyJ" + "b" * 30 + "." + "c" * 30,
    ],
    ids=["AWS", "GitHub", "key", "token"],
)
def test_a_secret_would_be_found(text: str) -> None:
    assert PATTERN.search(f"x = '{text}'")


def test_every_threat_has_its_test() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    threats = re.findall(r"^- \*\*", page[page.index("## Threats") :], re.MULTILINE)
    tests = re.findall(r"^  `(tests/[\w/.]+)`$", page, re.MULTILINE)
    assert len(threats) == len(tests) > 15
    assert [name for name in tests if not (ROOT / name).is_file()] == []
