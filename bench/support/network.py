"""A network as it is outside of one machine: delays, servers that hang, names with dead addresses.

``Network`` stands between this process and servers. It answers the look-up of names, so that
whoever connects to a server that it knows reaches a proxy, encrypted or not.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto
from typing import Any, TypeVar
from unittest.mock import patch

T = TypeVar("T")

HOST = "127.0.0.1"
DEAD = "127.0.0.9"
"""An address at which nothing ever answers; see ``Network.dead_first``."""

_FILLERS = 4
_UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

_lookup = socket.getaddrinfo


class Failure(Enum):
    """What can become of one request over HTTP."""

    REFUSED = auto()  # answered with 503 instead of by the server
    CUT = auto()  # never arrives: the connection is closed
    ANSWER_LOST = auto()  # carried out, but the connection is closed before the answer is there


class Path:
    """The way to one server.

    Attributes:
        failing: Decides, from what a client sends, whether this request fails.
        round_trip_seconds: What passes gets half of it later, in each direction; the opening of a
            connection costs one more.
        connections: How many were opened.
    """

    def __init__(self, network: Network, port: int) -> None:
        self.round_trip_seconds = 0.0
        self.connections = 0
        self.failing: Callable[[bytes], Failure | None] | None = None
        self._network = network
        self._target = port
        self._thawed = asyncio.Event()
        self._thawed.set()
        self._is_cut = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = network.run(self._listen())
        self.port: int = self._server.sockets[0].getsockname()[1]

    def freeze(self) -> None:
        """Hold what is on its way: connections stay open, and nothing arrives."""
        self._network.call(self._thawed.clear)

    def thaw(self) -> None:
        """Deliver what was held, and go on."""
        self._network.call(self._thawed.set)

    def cut(self) -> None:
        """Close all connections, and every new one at once."""
        self._network.call(self._cut)

    def mend(self) -> None:
        """Let connections through again."""
        self._is_cut = False

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._accept, HOST, 0)

    def _cut(self) -> None:
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self._is_cut:
            writer.transport.abort()
            return
        try:
            server_reader, server_writer = await asyncio.open_connection(HOST, self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, server_writer}
        await asyncio.sleep(self.round_trip_seconds)
        failures = _Failures(self, writer, server_writer)
        for source, sink, passes in (
            (reader, server_writer, failures.request_passes),
            (server_reader, writer, failures.answer_passes),
        ):
            task = asyncio.create_task(self._forward(source, sink, passes))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _forward(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        passes: Callable[[bytes], bool],
    ) -> None:
        """Deliver each piece after its delay; what follows does not wait for it to arrive."""
        held: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        delivery = asyncio.create_task(self._deliver(held, sink))
        clock = asyncio.get_running_loop().time
        try:
            with suppress(OSError):
                while (piece := await source.read(2**16)) and passes(piece):
                    held.put_nowait((clock() + self.round_trip_seconds / 2, piece))
            held.put_nowait((clock() + self.round_trip_seconds / 2, b""))
            await delivery
        finally:
            delivery.cancel()
            self._writers.discard(sink)
            sink.close()

    async def _deliver(
        self, held: asyncio.Queue[tuple[float, bytes]], sink: asyncio.StreamWriter
    ) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            due, piece = await held.get()
            await asyncio.sleep(due - clock())
            await self._thawed.wait()
            if not piece:
                return
            with suppress(OSError):
                sink.write(piece)
                await sink.drain()


class _Failures:
    """Lets the requests of one connection fail as its path decides."""

    def __init__(
        self, path: Path, client: asyncio.StreamWriter, server: asyncio.StreamWriter
    ) -> None:
        self._path, self._client, self._server = path, client, server
        self._answer_is_lost = False

    def request_passes(self, piece: bytes) -> bool:
        """Return whether a piece from the client goes on to the server."""
        failure = None if self._path.failing is None else self._path.failing(piece)
        if failure is Failure.REFUSED:
            self._client.write(_UNAVAILABLE)
            self._client.close()
            self._server.transport.abort()
        elif failure is Failure.CUT:
            self._close()
        elif failure is Failure.ANSWER_LOST:
            self._answer_is_lost = True
        return failure in (None, Failure.ANSWER_LOST)

    def answer_passes(self, piece: bytes) -> bool:
        """Return whether a piece from the server goes on to the client."""
        if self._answer_is_lost:
            self._close()
        return not self._answer_is_lost

    def _close(self) -> None:
        self._client.transport.abort()
        self._server.transport.abort()


class Network:
    """Paths to servers on this machine, by their ports.

    Attributes:
        dead_first: Names that lead to a dead address before the right one.
    """

    def __init__(self) -> None:
        self.dead_first: set[str] = set()
        self._loop = asyncio.new_event_loop()
        self._paths: dict[int, Path] = {}
        self._buried: dict[int, list[socket.socket]] = {}
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def path(self, port: int) -> Path:
        """Return the way to the server on a port, always the same."""
        if port not in self._paths:
            self._paths[port] = Path(self, port)
        return self._paths[port]

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the network's thread, and return what it returns."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def call(self, work: Any) -> None:
        """Call a function in the network's thread."""

        async def called() -> None:
            work()

        self.run(called())

    def lookup(self, host: str, port: int, *args: Any, **options: Any) -> list[Any]:
        """Answer as the system's look-up of names does, with the paths' ports."""
        known = host in self.dead_first
        found = _lookup(HOST if known else host, port, *args, **options)
        if port in self._paths:
            proxy = self._paths[port].port
            found = [(*entry[:4], (entry[4][0], proxy, *entry[4][2:])) for entry in found]
        if known:
            dead = [(*entry[:4], (DEAD, *entry[4][1:])) for entry in found]
            self._bury(dead[0][4][1])
            return [*dead, *found]
        return found

    def _bury(self, port: int) -> None:
        """Let a port of the dead address take connections for ever: its queue is full."""
        if port in self._buried:
            return
        listener = socket.create_server((DEAD, port), backlog=0)
        self._buried[port] = [listener]
        for _ in range(_FILLERS):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex((DEAD, port))
            self._buried[port].append(filler)

    def close(self) -> None:
        """Close everything."""

        async def finish() -> None:
            for path in self._paths.values():
                path._server.close()  # noqa: SLF001 (of the same module)
                path._cut()  # noqa: SLF001
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self.run(finish())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()
        for each in (one for some in self._buried.values() for one in some):
            each.close()


@contextmanager
def network() -> Iterator[Network]:
    """Give a network that this process's look-ups of names go through."""
    made = Network()
    try:
        with patch("socket.getaddrinfo", made.lookup):
            yield made
    finally:
        made.close()
