"""Asking a server for JSON over HTTP: bounded in time and size, with errors that say what to do."""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import httpx

from collectors.errors import (
    CollectorError,
    NoAnswerError,
    ProtocolError,
    SecurityError,
    SettingsError,
    UnreachableError,
)
from collectors.source.answer import parse
from collectors.source.excerpt import short
from collectors.source.file_marks import Marks, marks_of
from collectors.source.redaction import redact
from config.integrations import HttpSettings

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 1.0
_CONNECT_FRACTION = 0.3
"""Of a request's time, what each address of a name has: the first one may be dead."""

_BUSY = frozenset({429, 502, 503, 504})

# TLS alerts by which a server refuses a client's certificate.
_OUR_CERTIFICATE = ("unknown ca", "bad certificate", "alert certificate", "certificate required")


class NotFoundError(CollectorError):
    """The server has no such thing (404)."""


class NotPermittedError(SecurityError):
    """The server knows the user and does not permit this to it."""


class TooLargeError(ProtocolError):
    """The answer is larger than a client takes."""


class NotNowError(Exception):
    """A request that may be tried again; carries the error for when it may not."""

    def __init__(self, failure: CollectorError, status: int | None = None) -> None:
        super().__init__(str(failure))
        self.status = status
        self.failure = failure


class HttpClient:
    """Asks one server; keeps its connections from poll to poll. For one thread.

    A request is tried again after a lost connection and after the statuses that mean "not now".
    Redirects are not followed, since credentials would go with them. What cannot be read raises
    CollectorError, in subclasses as well.

    Attributes:
        problems: What stayed unknown so far in the section that is being collected.
    """

    largest_bytes = 64 * 1024 * 1024

    def __init__(self, settings: HttpSettings, context: ssl.SSLContext | None = None) -> None:
        """Ask nothing yet.

        Args:
            settings: Where the server is, and how it is asked.
            context: How to encrypt, in place of what the settings say.
        """
        self.settings = settings
        self._context = context
        self.problems: list[str] = []
        self._marks = _marks(settings)
        self._http = self._opened()
        self.begin_poll(settings.request_timeout_seconds)

    def _opened(self) -> httpx.Client:
        settings = self.settings
        headers = {"user-agent": "headroom", "accept": "application/json"}
        auth = None
        if settings.token is not None:
            headers["authorization"] = f"Bearer {settings.token.get_secret_value()}"
        if settings.username is not None and settings.password is not None:
            auth = httpx.BasicAuth(settings.username, settings.password.get_secret_value())
        return httpx.Client(
            base_url=settings.url,
            headers=headers,
            auth=auth,
            verify=self._context or tls_context(settings),
            timeout=settings.request_timeout_seconds,
            limits=httpx.Limits(max_connections=4, max_keepalive_connections=2),
        )

    def begin_poll(self, seconds: float) -> None:
        """Let the requests that follow share this many seconds.

        Certificates and keys that were replaced are taken up; while they do not fit one another,
        those from before serve on.
        """
        marks = _marks(self.settings)
        if marks != self._marks:
            with suppress(SettingsError):
                before, self._http, self._marks = self._http, self._opened(), marks
                before.close()
        self._ends = time.monotonic() + seconds
        self.requests_sent = 0

    def get(
        self,
        path: str,
        params: Mapping[str, Any] | None = None,
        *,
        retry: Collection[int] = (),
    ) -> Any:
        """Return the JSON that the server has under a path; tried again with growing pauses.

        Args:
            path: The path, its parts percent-encoded by the caller.
            params: The query.
            retry: Further statuses after which the request is tried again.

        Raises:
            NotFoundError: There is nothing under that path.
            NotPermittedError: The credentials are right, the user's rights are not enough.
            CollectorError: No answer in time, refused, or an answer that is not JSON.
        """
        return self._sent("GET", path, retry, params=params)

    def post(self, path: str, form: Mapping[str, str]) -> Any:
        """Return the JSON that the server answers to a form; with the limits and errors of get."""
        return self._sent("POST", path, (), data=form)

    def _sent(self, method: str, path: str, retry: Collection[int], **sent: Any) -> Any:
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                return self._try(method, path, **sent)
            except NotNowError as error:
                is_final = error.status is not None and error.status not in {*_BUSY, *retry}
                if is_final or self._seconds_left < pause + _FIRST_PAUSE_SECONDS:
                    raise error.failure from None
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def close(self) -> None:
        """Give up all connections."""
        self._http.close()

    def refusal(self, path: str, status: int, body: bytes) -> Exception:
        """Return the error that a status other than 200 is; NotNowError where it may pass."""
        where, said = self.settings.url, short(redact(body[:2000].decode("utf-8", "replace")))
        if status == 401:
            return SecurityError(
                f"{where} refused the credentials (401): check username and password, or token"
            )
        if status == 403:
            return NotPermittedError(f"{where}{path} is not permitted to this user (403): {said}")
        if status == 404:
            return NotFoundError(f"{where}{path} does not exist (404): is this the right URL?")
        if 300 <= status < 400:
            return SettingsError(f"{where} redirects ({status}): write the final URL into url")
        return NotNowError(CollectorError(f"{where}{path} answered {status}: {said}"), status)

    @property
    def _seconds_left(self) -> float:
        return self._ends - time.monotonic()

    def _try(self, method: str, path: str, **sent: Any) -> Any:
        where = self.settings.url
        seconds = min(self.settings.request_timeout_seconds, self._seconds_left)
        if seconds <= 0:
            raise NoAnswerError(f"{where} took too long: the poll's time is over")
        ends = time.monotonic() + seconds
        self.requests_sent += 1
        patience = httpx.Timeout(seconds, connect=seconds * _CONNECT_FRACTION)
        try:
            with self._http.stream(method, path, timeout=patience, **sent) as answer:
                body = self._body(answer, ends)
                status, challenged = answer.status_code, "www-authenticate" in answer.headers
        except httpx.ConnectTimeout:
            raise NoAnswerError(
                f"{where}: no connection in time; can it be reached from here, through every "
                "firewall?"
            ) from None
        except httpx.TimeoutException:
            raise NoAnswerError(f"{where} did not answer within {seconds:.1f} s") from None
        except httpx.TransportError as error:
            raise _transport(where, error) from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, UnicodeError):
            raise ProtocolError(f"{where}{path} cannot be asked for, or read") from None
        if status == 200:
            try:
                return parse(body)
            except ValueError:
                raise ProtocolError(
                    f"{where}{path} answered something that is not JSON: is this the right URL?"
                ) from None
        if status == 401 and not challenged and b"not_authorised" in body:
            status = 403  # RabbitMQ's word for it: it knows the user, and asks for no other
        raise self.refusal(path, status, body)

    def _body(self, answer: httpx.Response, ends: float) -> bytes:
        """Read a body that may neither trickle for ever nor fill the memory."""
        where, body = self.settings.url, bytearray()
        for part in answer.iter_bytes():
            body += part
            if len(body) > self.largest_bytes:
                raise TooLargeError(f"{where} answered more than {self.largest_bytes >> 20} MB")
            if time.monotonic() > ends:
                raise NoAnswerError(f"{where} answers too slowly: it was not done in time")
        return bytes(body)


def _marks(settings: HttpSettings) -> Marks:
    files = (settings.ca_file, settings.certificate_file, settings.key_file)
    named = [str(file) for file in files if file is not None]
    return marks_of(named, trusts_the_system=settings.ca_file is None)


def tls_context(settings: HttpSettings) -> ssl.SSLContext:
    """Return the TLS settings of a server.

    Raises:
        SettingsError: A file cannot be read or is not PEM.
    """
    files = [settings.ca_file, settings.certificate_file, settings.key_file]
    try:
        for file in files:
            if file is not None and not file.is_file():
                raise SettingsError(f"{settings.name}: the file {file} does not exist")
        context = ssl.create_default_context(cafile=settings.ca_file)
        if settings.certificate_file is not None:
            context.load_cert_chain(settings.certificate_file, settings.key_file)
    except OSError as error:  # of TLS, too
        names = ", ".join(str(file) for file in files if file is not None)
        raise SettingsError(f"{settings.name}: {names} cannot be used: {error}") from None
    return context


def _transport(where: str, error: httpx.TransportError) -> Exception:
    """Say what happened in our own words: a library's may quote what was sent or received."""
    cause = _cause(error)
    if isinstance(cause, ssl.SSLCertVerificationError):
        why = cause.verify_message
        return SecurityError(f"{where}: its certificate is not trusted ({why}); set ca_file")
    if isinstance(cause, ssl.SSLError):
        why = (cause.reason or "no reason given").lower().replace("_", " ")
        if any(sign in why for sign in _OUR_CERTIFICATE):
            return SecurityError(
                f"{where} does not accept our certificate, or wants one: check certificate_file "
                "and key_file"
            )
        return SecurityError(f"{where}: TLS failed ({why}); http and https mixed up?")
    if isinstance(cause, socket.gaierror):
        return UnreachableError(f"{where}: its host name is unknown; check url, and the DNS")
    why = f": {os.strerror(cause.errno).lower()}" if cause is not None and cause.errno else ""
    if isinstance(error, httpx.ConnectError):
        return NotNowError(UnreachableError(f"{where} cannot be reached{why}"))
    return NotNowError(UnreachableError(f"{where} cut the connection, or does not speak HTTP{why}"))


def _cause(error: BaseException) -> OSError | None:
    """Return the system's error below a library's."""
    below: BaseException | None = error
    while below is not None and not isinstance(below, OSError):
        below = below.__cause__ or below.__context__
    return below
