"""Leaving secrets out of what servers say: traces quote configurations now and then."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from collectors.source.excerpt import LONGEST, excerpt
from config.secret import HIDDEN, hide

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
       |account[._-]?key|authorization|\bkey|sig)
     [\w.-]{0,64}["']?\s*[=:]\s*)
    ("[^"]*"|'[^']*'|(?:basic|bearer)\s+[^\s,;]+|[^\s,;&"'})\]]+)
    """
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w+/=._~-]{8,}")
_ADDRESS = re.compile(r"://\S*")
_QUOTED = re.compile(r"""["']([^"']+)["']""")
_SHORTEST = 4
_MOST_SECRETS = 200
_SEARCHED = 4 * LONGEST
"""How much of each end of a text is searched for secrets."""


def redact(text: str, config: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the text, or an excerpt of a long one, with three stars in place of secrets.

    Three kinds of text are replaced: values under a key of the configuration that names a secret,
    values assigned to such a word in the text itself, and user names with passwords in URLs.
    A text is not shown where a configuration names more secrets than connectors have.
    """
    secrets: set[str] = set()
    for secret in _secrets(config):
        secrets.add(secret)
        if len(secrets) > _MOST_SECRETS:
            return f"not shown: the configuration has more than {_MOST_SECRETS} secrets"
    if len(text) > 2 * _SEARCHED:
        # The excerpt leaves out what lies around this cut, where half a secret may be.
        text = text[:_SEARCHED] + text[-_SEARCHED:]
    # The longest first: one secret may begin with another.
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    text = excerpt(text)
    text = _ADDRESS.sub(_without_user, text)
    text = _BEARER.sub(rf"\1 {HIDDEN}", text)
    return hide(_ASSIGNED.sub(rf"\1{HIDDEN}", text))


def _without_user(address: re.Match[str]) -> str:
    # A password may hold a slash: everything before the last at sign goes.
    _, user_info, rest = address[0].rpartition("@")
    return f"://{HIDDEN}@{rest}" if user_info else address[0]


def _secrets(config: Mapping[str, str]) -> Iterator[str]:
    for key, value in config.items():
        if not _SECRET_KEY.search(key):
            continue
        for part in (value, value.strip(), *_QUOTED.findall(value)):
            # Shorter ones, such as "true", would tear the text to pieces.
            if len(part) >= _SHORTEST and not part.startswith("${"):
                yield part
