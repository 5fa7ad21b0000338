"""What people ask of the alerting service: a silence, an acknowledgement, and the end of either.

Each can be applied twice and says the same afterwards: a process that ends in between harms
nothing.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass, fields
from typing import Literal, get_args

from alerting.notify.store import AlertStore

Kind = Literal["silence", "end", "acknowledge", "take back"]
_OF_ALERTS = ("acknowledge", "take back")
"""These name an alert and no silence."""
LARGEST_BYTES = 64 * 1024
_NUMBERS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One thing that somebody asks for.

    Attributes:
        at: When, in Unix seconds.
        number: The silence's; None: the store gives it one.
        alert: The id of the alert that is acknowledged.
        acknowledged_at: When that was said what is taken back: of no other is it so.
    """

    kind: Kind
    at: float
    author: str = ""
    comment: str = ""
    number: int | None = None
    matchers: tuple[str, ...] = ()
    starts_at: float = 0.0
    ends_at: float = 0.0
    alert: str = ""
    acknowledged_at: float = 0.0

    def apply(self, store: AlertStore) -> int:
        """Do it; return the number of the silence, 0 where there was nothing to do.

        Raises:
            ValueError: It cannot be done.
            StoreError: The store cannot be written.
        """
        if self.kind == "silence":
            return store.silence(
                self.matchers,
                starts_at=self.starts_at,
                ends_at=self.ends_at,
                author=self.author,
                comment=self.comment,
                now=self.at,
                number=self.number,
            )
        if self.kind == "end":
            number = self.number or 0
            return number if store.end_silence(number, self.at) else 0
        if self.kind == "take back":
            return int(
                store.take_back(
                    self.alert,
                    acknowledged_at=self.acknowledged_at,
                    author=self.author,
                    now=self.at,
                )
            )
        store.acknowledge(self.alert, author=self.author, comment=self.comment, now=self.at)
        return 1

    def to_json(self) -> bytes:
        """Return it as the content of a file."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def from_json(cls, content: bytes) -> Request:
        """Read what ``to_json`` wrote.

        Raises:
            ValueError: It is none.
        """
        if len(content) > LARGEST_BYTES:
            raise ValueError(f"is larger than {LARGEST_BYTES >> 10} kB")
        try:
            found = json.loads(content)
        except RecursionError:
            raise ValueError("is nested too deeply") from None
        if not isinstance(found, dict) or found.get("kind") not in get_args(Kind):
            raise ValueError("is no request")
        matchers = found.pop("matchers", [])
        if not isinstance(matchers, list) or not all(isinstance(one, str) for one in matchers):
            raise ValueError("its matchers are no texts")
        types = {one.name: one.default.__class__ for one in fields(cls)} | {"at": float}
        types |= {"kind": str, "number": int}
        for name, value in found.items():
            if name == "number" and value is None and found["kind"] in _OF_ALERTS:
                continue
            wanted = (int, float) if types.get(name) is float else types.get(name, type(None))
            if not isinstance(value, wanted) or isinstance(value, bool):
                raise ValueError(f"{name[:40]!r} is unknown, or of another type")
        if "at" not in found or (found["kind"] not in _OF_ALERTS and "number" not in found):
            raise ValueError("does not say when, or which silence")
        return cls(**found, matchers=tuple(matchers))


def new_number() -> int:
    """Return a number for a silence that no other one has, whoever asks at the same time."""
    return 1 + secrets.randbelow(_NUMBERS)
