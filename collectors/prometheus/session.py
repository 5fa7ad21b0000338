"""The HTTP session under prometheus-api-client: bounded, with errors that say what to do.

The library by itself waits for ever, tries a busy server three times within six seconds whatever
the time there is, and drops the warnings of an answer. It lets its user bring the session: so that
is where all of this is put right, and no other module has to think of it.
"""

from __future__ import annotations

import io
import json
import ssl
import time
from base64 import b64encode
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies
from urllib3.exceptions import HTTPError, ReadTimeoutError

from collectors.errors import (
    CollectorError,
    NoAnswerError,
    ProtocolError,
    SecurityError,
    SettingsError,
    UnreachableError,
)
from collectors.source.http_client import NotNowError, WithinPoll, tls_context
from config.integrations import HttpSettings

LARGEST_BYTES = 24 * 1024 * 1024
"""Of an answer: about a million points, which take ten times as much in memory."""

_PART_BYTES = 64 * 1024
_BUSY = frozenset({408, 429, 500, 502, 503, 504})
_SHOWN_CHARACTERS = 200
# TLS alerts by which a server refuses a client's certificate.
_OUR_CERTIFICATE = (
    "alert unknown ca",
    "alert bad certificate",
    "alert certificate",
    "certificate_required",
    "certificate required",
)
# Over 11,000 moments; over the server's own limits of samples.
_TOO_MUCH = ("exceeded", "too many samples")


class TooMuchError(CollectorError):
    """The server cannot answer so much at once: ask for less time, or with a longer step."""


class Answer(requests.Response):
    """A response whose JSON was read and checked."""

    parsed: Any = None

    def json(self, **_: Any) -> Any:
        """Return the JSON, which is not parsed twice."""
        return self.parsed


class BoundedSession(WithinPoll, requests.Session):
    """Asks one server. For one thread.

    A request is tried again after a lost connection and after the statuses that mean "not now".
    Redirects are not followed, since credentials would go with them.

    Attributes:
        warnings: What the server said beside its answers since ``begin_poll``.
    """

    def __init__(self, settings: HttpSettings) -> None:
        """Prepare; nothing connects yet.

        Raises:
            SettingsError: A certificate file cannot be used.
        """
        super().__init__()
        self._settings = settings
        self.warnings: list[str] = []
        # Of the environment, only proxies: neither ~/.netrc nor another CA bundle gets into it.
        self.trust_env = False
        self.proxies.update(get_environ_proxies(settings.url))
        self.headers.update({"user-agent": "headroom", "accept": "application/json"})
        if settings.token is not None:
            self.headers["authorization"] = f"Bearer {settings.token.get_secret_value()}"
        if settings.username is not None and settings.password is not None:
            pair = f"{settings.username}:{settings.password.get_secret_value()}"
            self.headers["authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        self._adapter = _TlsAdapter(tls_context(settings))
        self.begin_poll(settings.request_timeout_seconds)

    def take_over(self) -> None:
        """Replace the adapter, and with it the retries, that the library puts in."""
        self.mount(self._settings.url, self._adapter)

    def begin_poll(self, seconds: float) -> None:
        """Let the requests that follow take so many seconds together."""
        super().begin_poll(seconds)
        self.warnings = []
        self.requests_sent = 0

    def request(  # type: ignore[override]  # the library gives no more than these
        self, method: str, url: str, **options: Any
    ) -> requests.Response:
        """Send a request; see the class.

        Raises:
            CollectorError: No answer in time, refused, or an answer that is not Prometheus's.
        """
        return self.retried(lambda: self._try(method, url, options))

    def _try(self, method: str, url: str, options: dict[str, Any]) -> Answer:
        where = self._settings.url
        seconds = min(self._settings.request_timeout_seconds, self.seconds_left)
        if seconds <= 0:
            raise NoAnswerError(f"{where} took too long: the poll's time is over")
        ends = time.monotonic() + seconds
        self.requests_sent += 1
        # What the library leaves unset must not override the session's own.
        params = options.get("params")
        try:
            with super().request(
                method, url, params=params, timeout=seconds, stream=True, allow_redirects=False
            ) as response:
                body = _read(response, ends, where)
        except (requests.Timeout, ReadTimeoutError):
            raise NoAnswerError(f"{where} did not answer within {seconds:.1f} s") from None
        except (requests.RequestException, HTTPError) as error:
            raise _transport(where, error) from None
        parsed = _json(body)
        if response.status_code != 200:
            raise _refusal(where, response.status_code, parsed, body)
        if not isinstance(parsed, dict) or parsed.get("status") != "success":
            raise ProtocolError(
                f"{where} answered something that is not Prometheus's: is this the right URL?"
            )
        self._note(parsed.get("warnings"))
        answer = Answer()
        answer.status_code = response.status_code
        answer.raw = io.BytesIO(body)
        answer.parsed = parsed
        return answer

    def _note(self, warnings: object) -> None:
        if isinstance(warnings, list):
            new = (_short(str(warning)) for warning in warnings)
            self.warnings += [warning for warning in new if warning not in self.warnings]


class _TlsAdapter(HTTPAdapter):
    """Checks certificates as the rest of Headroom does: the system's authorities or ``ca_file``."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__(max_retries=0)

    def init_poolmanager(
        self, connections: int, maxsize: int, block: bool = False, **options: Any
    ) -> None:
        super().init_poolmanager(connections, maxsize, block, ssl_context=self._context, **options)

    def cert_verify(self, conn: Any, url: str, verify: object, cert: object) -> None:
        """Add nothing: the context knows whom to trust, and our own certificate."""


def _read(response: requests.Response, ends: float, where: str) -> bytes:
    """Read a body that may neither trickle for ever nor fill the memory."""
    body = bytearray()
    # One read of the socket at a time: iter_content would wait for a whole part.
    while part := response.raw.read1(_PART_BYTES, decode_content=True):
        body += part
        if len(body) > LARGEST_BYTES:
            raise TooMuchError(
                f"{where} answered more than {LARGEST_BYTES >> 20} MB: narrow labels down"
            )
        if time.monotonic() > ends:
            raise NoAnswerError(f"{where} answers too slowly: it was not done in time")
    return bytes(body)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None


def _transport(where: str, error: Exception) -> Exception:
    text = str(error)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        reason = text.partition("CERTIFICATE_VERIFY_FAILED]")[2].partition("(_ssl")[0].strip(" :")
        return SecurityError(f"{where}: its certificate is not trusted ({reason}); set ca_file")
    if any(sign in text.lower() for sign in _OUR_CERTIFICATE):
        return SecurityError(
            f"{where} does not accept our certificate, or wants one: check certificate_file "
            "and key_file"
        )
    if isinstance(error, requests.exceptions.SSLError):
        return SecurityError(f"{where}: TLS failed; http and https mixed up?")
    if "Name or service not known" in text or "name resolution" in text or "No address" in text:
        return UnreachableError(f"{where}: its host name is unknown; check url, and the DNS")
    if isinstance(error, requests.exceptions.InvalidHeader):
        return SettingsError(f"{where}: token cannot be sent in a header: is it one line?")
    if "refused" in text:
        return NotNowError(UnreachableError(f"{where} cannot be reached: connection refused"))
    if isinstance(error, requests.ConnectionError) and "NewConnectionError" in text:
        return NotNowError(UnreachableError(f"{where} cannot be reached"))
    return NotNowError(UnreachableError(f"{where} cut the connection"))


def _refusal(where: str, status: int, parsed: Any, body: bytes) -> Exception:
    if status == 401:
        return SecurityError(
            f"{where} refused the credentials (401): check username and password, or token"
        )
    if status == 403:
        return SecurityError(f"{where}: queries are not permitted to this user (403)")
    if status == 404:
        return SettingsError(f"{where} has no query API (404): is this Prometheus's URL?")
    if 300 <= status < 400:
        return SettingsError(f"{where} redirects ({status}): write the final URL into url")
    said = parsed.get("error") if isinstance(parsed, dict) else None
    shown = _short(str(said) if said else body[:2000].decode("utf-8", "replace"))
    kind = parsed.get("errorType") if isinstance(parsed, dict) else None
    is_limit = status in (400, 422) and any(sign in shown for sign in _TOO_MUCH)
    if kind == "timeout" or is_limit:
        return TooMuchError(f"{where} finds a query too large ({status}): {shown}")
    failure = CollectorError(f"{where} answered {status}: {shown}")
    return NotNowError(failure) if status in _BUSY else failure


def _short(text: str) -> str:
    return " ".join(text.split())[:_SHOWN_CHARACTERS]
