"""Leaving secrets out of a connector's error: traces quote configurations now and then."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from collectors.source.excerpt import excerpt

SHOWN = "***"

_SECRET_KEY = re.compile(
    r"(?i)passw|passphrase|pwd|secret|token|credential|jaas|private|apikey|sas\b|auth"
    r"|(api|access|account|license|encryption|shared|signing|ssl|storage)[._-]?(id[._-])?key"
    r"|key(store)?[._-](pem|material)|connection[._-]?string"
)
"""Keys whose values are secret, in the words of the usual connectors."""

# password=…, "password": "…", AccountKey=…; what follows up to the next separator.
_ASSIGNED = re.compile(
    r"""(?ix)
    ((?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|api[._-]?key|access[._-]?key
       |account[._-]?key|sig)
     [\w.-]{0,64}["']?\s*[=:]\s*)
    ("[^"]*"|'[^']*'|[^\s,;&"'})\]]+)
    """
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w+/=._~-]{8,}")
_USER_INFO = re.compile(r"(://)[^\s/@]+@")
_QUOTED = re.compile(r"""["']([^"']+)["']""")
_SHORTEST = 4


def redact(text: str, config: Mapping[str, str]) -> str:
    """Return the text, or an excerpt of a long one, with three stars in place of secrets.

    Three kinds of text are replaced: values under a key of the configuration that names a secret,
    values assigned to such a word in the text itself, and user names with passwords in URLs.
    """
    # The longest first: one secret may begin with another.
    for secret in sorted(set(_secrets(config)), key=len, reverse=True):
        text = text.replace(secret, SHOWN)
    text = excerpt(text)
    text = _USER_INFO.sub(rf"\1{SHOWN}@", text)
    text = _BEARER.sub(rf"\1 {SHOWN}", text)
    return _ASSIGNED.sub(rf"\1{SHOWN}", text)


def _secrets(config: Mapping[str, str]) -> Iterator[str]:
    for key, value in config.items():
        if not _SECRET_KEY.search(key):
            continue
        for part in (value, value.strip(), *_QUOTED.findall(value)):
            # Shorter ones, such as "true", would tear the text to pieces.
            if len(part) >= _SHORTEST and not part.startswith("${"):
                yield part
