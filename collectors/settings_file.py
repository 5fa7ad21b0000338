"""The configuration file, looked at while the service runs.

What cannot be used changes nothing. It is tried again at each look, because a secret's file may
only come later, and it is said once and then hourly.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from collectors.errors import SettingsError
from collectors.registry import make_sources, source_specs
from collectors.service.polling import Plan
from collectors.source.repeat_filter import RepeatFilter
from collectors.source.shared_facts import SharedFacts
from config.errors import ConfigError
from config.load import load
from config.secret import file_secrets, hide
from config.settings import Settings
from config.stamp import stamp_of

log = logging.getLogger(__name__)


class SettingsFile:
    """Notices changes of the file that a service was started with."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self._path = path
        self._started_with = settings
        self._shared = SharedFacts()
        self._stamp = stamp_of(path)
        self._secrets = list(file_secrets(settings))
        self._refused = False
        self._repeats = RepeatFilter()
        self.problem: str | None = None
        """What the file says and is not in effect, in one text; None: all of it is."""

    def plan(self, settings: Settings | None = None) -> Plan:
        """Return what settings ask for; without any, those that the service was started with."""
        chosen = settings or self._started_with
        return Plan(
            make=lambda: make_sources(chosen, shared=self._shared), specs=source_specs(chosen)
        )

    def read_again(self) -> None:
        """Let the next look read the file and its secrets even if it has not changed."""
        self._stamp = None

    def look(self, apply: Callable[[Plan], None]) -> bool:
        """Apply the file if it, or a file of a secret, was written anew.

        Returns:
            Whether ``problem`` has changed, or is worth to be said again.
        """
        stamp = stamp_of(self._path)
        is_same = stamp == self._stamp and all(
            stamp_of(secret.file) == secret.stamp for secret in self._secrets
        )
        if is_same and not self._refused:
            return False
        self._stamp = stamp
        try:
            settings = load(self._path)
            self._secrets = list(file_secrets(settings))
            apply(self.plan(settings))
        except (ConfigError, SettingsError) as error:
            self._refused = True
            self.problem = hide(
                "the settings stay as they were: " + "; ".join(str(error).splitlines())
            )
        else:
            self._refused = False
            self.problem = restart_needed(self._started_with, settings)
            log.info("settings read from %s", self._path)
        should_log = self._repeats.should_log(("settings",), self.problem)
        if should_log and self.problem is not None:
            log.error("%s", self.problem)
        return should_log


def restart_needed(before: Settings, after: Settings) -> str | None:
    """Return which settings of the service take effect at its next start only."""
    changed = [
        name
        for name, old, new in (
            ("lake.uri", before.lake.uri, after.lake.uri),
            ("lake.storage_options", before.lake.storage_options, after.lake.storage_options),
            ("collectors.exporter", before.collectors.exporter, after.collectors.exporter),
        )
        if old != new
    ]
    if not changed:
        return None
    return f"takes effect when the collectors are restarted: {', '.join(changed)}"
