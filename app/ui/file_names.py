"""Names of the files that pages offer."""

from __future__ import annotations

import re
from datetime import UTC

from app.data.context import View


def file_name(key: str, view: View) -> str:
    """Return a file's name: what it lists, of which cluster, over which range, and when."""
    at = view.now.astimezone(UTC).strftime("%Y-%m-%dT%H%M")
    chosen = [view.range.key] if view.has_range else []
    parts = (key.removesuffix("-table"), view.cluster, *chosen, at)
    return f"{'-'.join(re.sub(r'[^A-Za-z0-9._-]+', '_', part) for part in parts)}.csv"
