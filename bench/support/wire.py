"""What goes over the wire between a browser and the dashboard, seen from between the two.

A browser's own account of it tells a message once the browser has time for it: what it draws would
count as the server's time.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

_STREAM = b"GET /_stcore/stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of the dashboard's script for one viewer."""

    seconds: float  # from the browser's request to the server's last message
    received_bytes: int


@dataclass(kw_only=True)
class Wire:
    """What went to one browser so far."""

    base: str  # the address that it opens instead of the dashboard's
    received_bytes: int = 0  # headers and bodies as they were sent: compressed ones compressed
    runs: list[Run] = field(default_factory=list)


@contextmanager
def wire(base: str) -> Iterator[Wire]:
    """Listen between a browser and the dashboard at an address."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="wire")
    thread.start()
    to = urlsplit(base)
    seen = Wire(base="")

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _relay(seen, reader, writer, to.hostname or "localhost", to.port or 80)

    try:
        listening = asyncio.start_server(connected, "localhost", 0)
        server = asyncio.run_coroutine_threadsafe(listening, loop).result()
        seen.base = f"http://localhost:{server.sockets[0].getsockname()[1]}"
        yield seen
        loop.call_soon_threadsafe(server.close)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _relay(
    seen: Wire, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int
) -> None:
    """Pass on what either side says until one of them ends."""
    try:
        from_server, to_server = await asyncio.open_connection(host, port)
    except OSError:  # the browser sees that nobody answers
        writer.close()
        return
    spoken: _Conversation | None = None

    async def ask() -> None:
        nonlocal spoken
        while content := await reader.read(65_536):
            if spoken is None and content.startswith(_STREAM):
                spoken = _Conversation(seen)
            to_server.write(content)
            if spoken:
                spoken.asks(content)

    async def answer() -> None:
        while content := await from_server.read(65_536):
            seen.received_bytes += len(content)
            writer.write(content)
            if spoken:
                spoken.answers(content)

    tasks = [asyncio.create_task(ask()), asyncio.create_task(answer())]
    ended, going_on = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in going_on:
        task.cancel()
    writer.close()
    to_server.close()
    with suppress(ConnectionError):  # a page that is left ends in the middle
        for task in ended:
            task.result()


class _Conversation:
    """What is said over one WebSocket, and the runs that it told of."""

    def __init__(self, seen: Wire) -> None:
        self._seen = seen
        self._of_browser, self._of_server = _Messages(masked=True), _Messages(masked=False)
        self._asked: float | None = None
        self._before = 0

    def asks(self, content: bytes) -> None:
        for said in self._of_browser.of(content):
            message = BackMsg()
            message.ParseFromString(said)
            if message.WhichOneof("type") == "rerun_script" and self._asked is None:
                self._asked, self._before = time.monotonic(), self._seen.received_bytes

    def answers(self, content: bytes) -> None:
        for said in self._of_server.of(content):
            message = ForwardMsg()
            message.ParseFromString(said)
            if self._asked is None or message.WhichOneof("type") != "script_finished":
                continue
            # A timer that asks for a run ends its own early: a viewer waits for the whole run.
            if message.script_finished == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY:
                self._asked = None  # it looked, and nothing had changed
            elif message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                seconds = time.monotonic() - self._asked
                received = self._seen.received_bytes - self._before
                self._seen.runs.append(Run(seconds=seconds, received_bytes=received))
                self._asked = None


class _Messages:
    """The messages in one direction of a WebSocket, without the request that opens it."""

    def __init__(self, *, masked: bool) -> None:
        self._masked = masked
        self._head: bytes | None = b""
        self._reader = StreamReader()
        self._parts: list[bytes] = []
        self._parsing = self._parse()

    def of(self, content: bytes) -> list[bytes]:
        """Return the messages that end with what has now arrived."""
        if self._head is not None:
            head, end, content = (self._head + content).partition(b"\r\n\r\n")
            self._head = None if end else head
            if not end:
                return []
        self._reader.feed_data(content)
        found: list[bytes] = []
        while (message := next(self._parsing)) is not None:
            found.append(message)
        return found

    def _parse(self) -> Iterator[bytes | None]:
        while True:
            frame: Frame = yield from Frame.parse(self._reader.read_exact, mask=self._masked)
            if frame.opcode in (Opcode.BINARY, Opcode.CONT):
                self._parts.append(bytes(frame.data))
                if frame.fin:
                    yield b"".join(self._parts)
                    self._parts.clear()
