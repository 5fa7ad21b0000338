"""A Connect server that tests tell what to answer, and sources that poll it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from collectors.connect.source import connect_sources
from collectors.source.shared_facts import SharedFacts
from config.settings import Settings
from tests.unit.collectors.connect.fakeconnect import FakeConnect, fake_connect
from tests.unit.collectors.connect.polling import Source


@pytest.fixture
def fake() -> Iterator[FakeConnect]:
    with fake_connect() as server:
        yield server


@pytest.fixture
def shared() -> SharedFacts:
    return SharedFacts()


@pytest.fixture
def make(shared: SharedFacts) -> Iterator[Callable[..., Source]]:
    """Make a source of a URL; further settings are those of ``ConnectSettings``."""
    made: list[Source] = []

    def source(url: str, **connect: Any) -> Source:
        settings = Settings.model_validate(
            {
                "clusters": [
                    {"name": "prod", "bootstrap_servers": "kafka:9092"},
                    {"name": "east", "bootstrap_servers": "kafka:9093"},
                ],
                "connect": [
                    {
                        "name": "main",
                        "url": url,
                        "cluster": "prod",
                        **connect,
                    }
                ],
            }
        )
        (new,) = connect_sources(settings, shared)
        made.append(new)
        return new

    yield source
    for each in made:
        each.close()
