"""What no unit test leaves behind for the next one."""

from __future__ import annotations

import pytest

from config import secret


@pytest.fixture(autouse=True)
def own_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of one test's secrets are not hidden in another's."""
    monkeypatch.setattr(secret, "_hidden", set())
