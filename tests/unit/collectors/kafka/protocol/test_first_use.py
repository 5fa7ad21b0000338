"""Answers that two brokers give at the same time, of a message that is used for the first time."""

from __future__ import annotations

import builtins
import gc
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol import api_message
from kafka.protocol.api_header import ResponseClassRegistry
from kafka.protocol.consumer import OffsetFetchResponse

from collectors.kafka.protocol.transport import connection

VERSION = 8
HEADER = SimpleNamespace(request_api_key=9, request_api_version=VERSION)


def test_two_brokers_whose_answers_are_the_first_of_their_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = memoryview(bytes(OffsetFetchResponse(throttle_time_ms=0, groups=[]).encode(VERSION)))
    # As in a process that has just started.
    ResponseClassRegistry.register_response_class(OffsetFetchResponse)
    OffsetFetchResponse._VERSIONS.clear()  # noqa: SLF001
    connection._used.clear()  # noqa: SLF001
    made, is_other_done = threading.Event(), threading.Event()

    def of_first_slowly(*arguments: Any, **options: Any) -> Any:
        found = builtins.type(*arguments, **options)
        if len(arguments) == 3 and not made.is_set():
            made.set()
            is_other_done.wait(0.5)  # the other one waits for this one
        return found

    monkeypatch.setattr(api_message, "type", of_first_slowly, raising=False)

    def decode() -> Any:
        with connection.first_use("class", HEADER):
            answer = ResponseClassRegistry.get_response_class(HEADER)
        with connection.first_use("code", HEADER):
            return answer.decode(body)

    first = threading.Thread(target=decode)
    first.start()
    assert made.wait(5.0)
    decode()
    is_other_done.set()
    first.join()
    gc.collect()
    assert decode().groups == []
