"""The tokens of one cluster, fetched anew before they end."""

from __future__ import annotations

import threading
import time

from kafka.net.sasl.oauth import AbstractTokenProvider

from collectors.errors import SecurityError
from collectors.kafka.protocol.sasl.callback import ask_callback
from collectors.kafka.protocol.sasl.oidc import ask_server
from collectors.kafka.protocol.sasl.settings import OAuth, TokenCallback
from collectors.kafka.protocol.sasl.token import Token
from collectors.kafka.protocol.threads import started

_RENEWED_AFTER, _USED_UNTIL = 0.8, 0.95  # of a token's life
_SLOW_SECONDS = 1.0
_SPARE_SECONDS = 0.5
"""How long a connection waits for the next token while the one at hand would still do."""

_SERVER_SECONDS = 30.0  # for a fetch, of which no connection waits longer than its set-up may take


class Tokens:
    """The token of one cluster; for any number of threads.

    One fetch at a time is under way, and all who need a token wait for that one: a callback that
    hangs cannot be ended, and is not called a second time. While the next one is slow or refused,
    the old one serves to its end.
    """

    def __init__(self, oauth: OAuth | TokenCallback) -> None:
        self._oauth = oauth
        self._lock = threading.Lock()
        self._token: Token | None = None
        self._renew_at = self._ends_at = 0.0
        self._fetch: _Fetch | None = None

    @property
    def delay(self) -> str | None:
        """What a fetch that takes long waits for; None where there is none."""
        fetch = self._fetch
        if fetch is None or time.monotonic() - fetch.started_at < _SLOW_SECONDS:
            return None
        if time.monotonic() < self._ends_at:  # nobody waits for it
            return None
        return f"{_source(self._oauth)} has given no token yet"

    def current(self, timeout_seconds: float) -> Token:
        """Return a token that is still good for a while.

        Raises:
            SecurityError: There is none within the time.
        """
        with self._lock:
            spare = self._token if time.monotonic() < self._ends_at else None
            if spare is not None and time.monotonic() < self._renew_at:
                return spare
            if self._fetch is None:
                fetch = _Fetch()
                started(self._run, fetch, name="kafka-token")
                self._fetch = fetch
            fetch = self._fetch
        patience = timeout_seconds if spare is None else min(timeout_seconds, _SPARE_SECONDS)
        if fetch.done.wait(patience) and isinstance(fetch.outcome, Token):
            return fetch.outcome
        if spare is not None:
            return spare
        if not fetch.done.is_set():
            raise SecurityError(
                f"{_source(self._oauth)} gave no token within {timeout_seconds:.0f} s"
            )
        # An error of its own for each thread: raising one adds to its traceback.
        raise SecurityError(str(fetch.outcome))

    def forget(self) -> None:
        """Let the next connection fetch another token: a broker has refused this one."""
        with self._lock:
            self._renew_at = self._ends_at = 0.0

    def _run(self, fetch: _Fetch) -> None:
        try:
            if isinstance(self._oauth, TokenCallback):
                fetch.outcome = ask_callback(self._oauth)
            else:
                fetch.outcome = ask_server(self._oauth, _SERVER_SECONDS)
        except SecurityError as error:
            fetch.outcome = error
        except Exception as error:  # without its text, which may hold a secret
            fetch.outcome = SecurityError(f"{_source(self._oauth)} {type(error).__name__}")
        with self._lock:
            self._fetch = None
            if isinstance(fetch.outcome, Token):
                self._token = fetch.outcome
                life = self._token.life_seconds
                self._renew_at = time.monotonic() + life * _RENEWED_AFTER
                self._ends_at = time.monotonic() + life * _USED_UNTIL
        fetch.done.set()


class _Fetch:
    """A fetch under way; its outcome once it is done."""

    def __init__(self) -> None:
        self.started_at = time.monotonic()
        self.done = threading.Event()
        self.outcome: Token | SecurityError = SecurityError("no token")


def _source(oauth: OAuth | TokenCallback) -> str:
    if isinstance(oauth, TokenCallback):
        return f"oauth_callback: {oauth.name}"
    return "sasl.oauthbearer.token.endpoint.url:"


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """Hands one token to kafka-python's mechanism."""

    def __init__(self, token: Token) -> None:
        self._token = token

    def token(self) -> str:
        """Return the token."""
        return self._token.text

    def extensions(self) -> dict[str, str]:
        """Return what is sent along with the token."""
        return dict(self._token.extensions)
