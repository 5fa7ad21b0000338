"""TCP connections to a name that may have several addresses."""

from __future__ import annotations

import os
import selectors
import socket
import time
from dataclasses import dataclass

_STAGGER_SECONDS = 0.25  # RFC 8305: the next address is tried beside one that is silent this long


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketOptions:
    """How sockets are opened; the names follow librdkafka's properties.

    Attributes:
        family: ``AF_UNSPEC``, ``AF_INET`` or ``AF_INET6``.
        canonical_bootstrap: Whether a bootstrap name stands for the canonical names of all its
            addresses.
        setup_seconds: How long one connection may take, encryption and authentication included.
        first_back_off_seconds: Pause before the first try after a failure; it doubles with each.
    """

    family: int = socket.AF_UNSPEC
    canonical_bootstrap: bool = False
    keep_alive: bool = False
    no_delay: bool = True
    send_buffer: int = 0
    receive_buffer: int = 0
    setup_seconds: float = 30.0
    first_back_off_seconds: float = 0.5
    last_back_off_seconds: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a name leads.

    Attributes:
        place: What the socket connects to.
        name: The name that the server's certificate must carry.
    """

    family: int
    place: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]
    name: str


def addresses(host: str, port: int, options: SocketOptions, *, is_bootstrap: bool) -> list[Address]:
    """Return all addresses of a name, in the order of the system's preference."""
    try:
        found = socket.getaddrinfo(host, port, family=options.family, type=socket.SOCK_STREAM)
    except UnicodeError:  # a part of it is empty or too long: no name server is asked for it
        raise socket.gaierror(socket.EAI_NONAME, "it can be no host name") from None
    canonical = is_bootstrap and options.canonical_bootstrap
    return [
        Address(
            family=family,
            place=place,
            name=socket.getnameinfo(place, socket.NI_NAMEREQD)[0] if canonical else host,
        )
        for family, _, _, _, place in found
    ]


def connect(
    candidates: list[Address], options: SocketOptions, deadline: float
) -> tuple[socket.socket, Address]:
    """Connect to the first address that answers.

    They are tried in turn. The next one begins when the one before has failed or was silent for a
    moment, and the first that is connected is taken: a dead address costs a moment, not the whole
    time.

    Args:
        candidates: Addresses; not empty.
        options: How to open the sockets.
        deadline: Monotonic time in seconds.

    Raises:
        OSError: None could be connected; the first failure.
    """
    waiting = list(candidates)
    failures: list[OSError] = []
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or selector.get_map():
                if waiting:
                    address = waiting.pop(0)
                    try:
                        selector.register(_begin(address, options), selectors.EVENT_WRITE, address)
                    except OSError as error:
                        failures.append(error)
                        continue
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                patience = min(left, _STAGGER_SECONDS) if waiting else left
                for key, _ in selector.select(patience):
                    opened: socket.socket = key.fileobj  # type: ignore[assignment]
                    selector.unregister(opened)
                    code = opened.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                    if code == 0:
                        return opened, key.data
                    opened.close()
                    failures.append(OSError(code, os.strerror(code)))
        finally:
            for key in list(selector.get_map().values()):
                key.fileobj.close()  # type: ignore[union-attr]
    raise failures[0] if failures else TimeoutError()


def _begin(address: Address, options: SocketOptions) -> socket.socket:
    """Begin to connect, without waiting."""
    opened = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, options.no_delay)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, options.keep_alive)
        for option, size in (
            (socket.SO_SNDBUF, options.send_buffer),
            (socket.SO_RCVBUF, options.receive_buffer),
        ):
            if size:
                opened.setsockopt(socket.SOL_SOCKET, option, size)
        opened.setblocking(False)
        try:
            opened.connect(address.place)
        except BlockingIOError:
            pass
    except BaseException:
        opened.close()
        raise
    return opened
