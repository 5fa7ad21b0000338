"""Many viewers of the dashboard, played: they ask as browsers do, and draw nothing."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState, ContextInfo
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException
from websockets.typing import Origin, Subprotocol

from bench.support.process_usage import usage_of_tree

_LATEST = 60.0
"""Seconds after which a run that has not ended has failed."""


@dataclass(kw_only=True)
class Played:
    """What many viewers met."""

    runs: list[float] = field(default_factory=list)  # seconds of each run that ended well
    failures: list[str] = field(default_factory=list)
    received_bytes: int = 0
    most_bytes: int = 0  # of the server's memory
    cores: float = 0.0  # that the server used


def play(base: str, paths: Sequence[str], *, viewers: int, seconds: float, server: int) -> Played:
    """Let viewers look at pages for some time, each drawn again as its timer says.

    Args:
        base: The dashboard's address.
        paths: The pages, dealt out in turn.
        viewers: How many; they come one after the other within the first interval.
        seconds: How long all of them look, after the last one came.
        server: The dashboard's process.
    """
    met = Played()
    asyncio.run(_play(met, base, paths, viewers, seconds, server))
    return met


async def _play(
    met: Played, base: str, paths: Sequence[str], viewers: int, seconds: float, server: int
) -> None:
    coming = [0.3 * number for number in range(viewers)]
    until = time.monotonic() + coming[-1] + seconds
    watching = threading.Event()
    watch = threading.Thread(target=_watch, args=(met, server, coming[-1], watching))
    watch.start()
    try:
        await asyncio.gather(
            *(
                _view(met, base, paths[number % len(paths)], coming[number], until)
                for number in range(viewers)
            )
        )
    finally:
        watching.set()
        watch.join()


def _watch(met: Played, server: int, after: float, done: threading.Event) -> None:
    """Keep the server's memory at its most, and what it used once all viewers are there."""
    done.wait(after)
    before, began = usage_of_tree(server)[0], time.monotonic()
    while not done.wait(1.0):
        used, resident = usage_of_tree(server)
        met.most_bytes = max(met.most_bytes, resident)
        met.cores = (used - before) / (time.monotonic() - began)


async def _view(met: Played, base: str, path: str, after: float, until: float) -> None:
    await asyncio.sleep(after)
    try:
        async with _connected(base) as socket:
            state, timer = _at(path), None
            while time.monotonic() < until:
                timer = await _run(met, socket, state, path) or timer
                if timer is None:
                    met.failures.append(f"{path}: the page does not draw itself again")
                    return
                await asyncio.sleep(timer[0])
                state.fragment_id, state.is_auto_rerun = timer[1], True
    except (OSError, TimeoutError, WebSocketException) as error:
        met.failures.append(f"{path}: {error!r}")


def visits(base: str, paths: Sequence[str], *, times: int) -> Played:
    """Let one viewer open pages one after the other, each some times; nobody draws them."""
    met = Played()
    asyncio.run(_visits(met, base, paths, times))
    return met


async def _visits(met: Played, base: str, paths: Sequence[str], times: int) -> None:
    for path in paths:
        for _ in range(times):
            try:
                async with _connected(base) as socket:
                    await _run(met, socket, _at(path), path)
            except (OSError, TimeoutError, WebSocketException) as error:
                met.failures.append(f"{path}: {error!r}")


def _connected(base: str) -> connect:
    url = f"ws://{urlsplit(base).netloc}/_stcore/stream"
    return connect(url, subprotocols=[Subprotocol("streamlit")], origin=Origin(base), max_size=None)


def _at(path: str) -> ClientState:
    page, _, query = path.lstrip("/").partition("?")
    context = ContextInfo(timezone="UTC")
    return ClientState(page_name=page, query_string=query, context_info=context)


async def _run(
    met: Played, socket: ClientConnection, state: ClientState, path: str
) -> tuple[float, str] | None:
    """Ask for a run and wait until it has ended; return the page's timer: seconds and name.

    A timer that only looks has none.
    """
    await socket.send(BackMsg(rerun_script=state).SerializeToString())
    began = time.monotonic()
    timer: tuple[float, str] | None = None
    is_done = False
    while not is_done:
        async with asyncio.timeout(_LATEST):
            content = await socket.recv()
        message = ForwardMsg()
        message.ParseFromString(content if isinstance(content, bytes) else b"")
        met.received_bytes += len(content)
        kind = message.WhichOneof("type")
        if kind == "navigation":  # else the next run would be one of the first page
            state.page_script_hash = message.navigation.page_script_hash
        elif kind == "auto_rerun":
            timer = message.auto_rerun.interval, message.auto_rerun.fragment_id
        elif kind == "delta" and message.delta.new_element.HasField("exception"):
            met.failures.append(message.delta.new_element.exception.message)
        elif kind == "script_finished":
            # The timer's own run ends early, for the run of the page that it asks for.
            if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                met.failures.append(f"{path}: the script did not compile")
            if message.script_finished == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY:
                return timer  # it looked, and nothing had changed
            is_done = message.script_finished in (
                ForwardMsg.FINISHED_SUCCESSFULLY,
                ForwardMsg.FINISHED_WITH_COMPILE_ERROR,
            )
    met.runs.append(time.monotonic() - began)
    return timer
