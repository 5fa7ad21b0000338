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
DIGESTS = re.compile(r"requirements.*\.txt|jars\.sha256|known_secrets\.txt")
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


@pytest.mark.exhaustive
def test_detect_secrets_finds_none_but_those_of_the_tests() -> None:
    """Its key words and its measure of randomness find what no pattern above describes.

    ``tests/known_secrets.txt`` lists what it finds and what is none: file, kind, SHA-1.
    """
    detect_secrets = pytest.importorskip("detect_secrets")
    settings = pytest.importorskip("detect_secrets.settings")
    collection = detect_secrets.SecretsCollection(root=str(ROOT))
    with settings.default_settings():
        for file in files():
            if not DIGESTS.fullmatch(file.name):
                collection.scan_file(str(file.relative_to(ROOT)))
    found = {f"{name} {one.type} {one.secret_hash}" for name, one in collection}
    known = set((ROOT / "tests" / "known_secrets.txt").read_text(encoding="utf-8").splitlines())
    assert found - known == set()
    assert known - found == set()  # the list holds nothing that is gone


def test_every_threat_has_its_test() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    _, *threats = re.split(r"^- \*\*", page[page.index("## Threats") :], flags=re.MULTILINE)
    assert len(threats) > 15
    for threat in threats:
        tests = re.findall(r"`(tests/[\w/.]+)`", threat)
        assert tests, threat
        assert [name for name in tests if not (ROOT / name).is_file()] == []
