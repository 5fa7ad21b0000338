"""A network as it is outside of one machine: delays, servers that hang, names with dead addresses.

``Network`` stands between this process and servers. It answers the look-up of names, so that
whoever connects to a server that it knows reaches a proxy, encrypted or not.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from unittest.mock import patch

T = TypeVar("T")

HOST = "127.0.0.1"
DEAD = "127.0.0.9"
"""An address at which nothing ever answers; see ``Network.dead_first``."""

_FILLERS = 4

_lookup = socket.getaddrinfo


class Path:
    """The way to one server.

    Attributes:
        round_trip_seconds: What passes gets half of it later, in each direction; the opening of a
            connection costs one more.
        connections: How many were opened.
    """

    def __init__(self, network: Network, port: int) -> None:
        self.round_trip_seconds = 0.0
        self.connections = 0
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
        for source, sink in ((reader, server_writer), (server_reader, writer)):
            task = asyncio.create_task(self._forward(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _forward(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Deliver each piece after its delay; what follows does not wait for it to arrive."""
        held: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        delivery = asyncio.create_task(self._deliver(held, sink))
        clock = asyncio.get_running_loop().time
        try:
            with suppress(OSError):
                while piece := await source.read(2**16):
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
